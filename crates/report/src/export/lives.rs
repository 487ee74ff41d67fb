//! What is live at each point of a trace, by role.

use super::{NO_ROLE, TOTAL};
use crate::exhibit::{ACROSS_STEPS, falls_silent};
use plimsoll_trace::{BlockId, Event, Label, LabelId, Trace};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Roles beyond so many are one.
const MOST_ROLES: usize = 32;
/// The role of those.
const OTHERS: &str = "other roles";

/// Live bytes by role while a trace is walked.
pub(super) struct Lives<'a> {
    /// The place of each label's role in the list.
    role_of: Vec<usize>,
    /// Whether each label is of what is there all the time, whoever runs.
    stays: Vec<bool>,
    roles: Vec<&'a str>,
    live: Vec<u64>,
    blocks: HashMap<BlockId, (usize, u64)>,
}

impl<'a> Lives<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut roles = vec![TOTAL];
        let mut place = |role: &'a str| {
            let role = if role.is_empty() { NO_ROLE } else { role };
            if let Some(place) = places.get(role) {
                return *place;
            }
            if roles.len() <= MOST_ROLES {
                roles.push(if roles.len() < MOST_ROLES { role } else { OTHERS });
            }
            places.insert(role, roles.len() - 1);
            roles.len() - 1
        };
        let role_of: Vec<usize> = trace.labels.iter().map(|label| place(&label.role)).collect();
        let live = vec![0; roles.len()];
        let silent = falls_silent(trace);
        let stays = |label: &Label| silent && ACROSS_STEPS.contains(&label.role.as_str());
        let stays: Vec<bool> = trace.labels.iter().map(stays).collect();
        let mut this = Self { role_of, stays, roles, live, blocks: HashMap::new() };
        this.add_what_stays(trace);
        this
    }

    /// What lives across steps is there from the beginning, once however many programs take it.
    fn add_what_stays(&mut self, trace: &Trace) {
        let mut seen = HashSet::new();
        for event in &trace.events {
            let Event::Take { offset, bytes, label, .. } = *event else { continue };
            let Some(named) = trace.labels.get(label.0 as usize).filter(|_| self.is_staying(label)) else {
                continue;
            };
            if seen.insert((named.value.as_str(), offset, bytes)) {
                self.add(label, bytes.0);
            }
        }
    }

    fn is_staying(&self, LabelId(label): LabelId) -> bool {
        self.stays.get(label as usize).copied().unwrap_or(false)
    }

    /// The sum, then each role.
    pub(super) fn now(&self) -> impl Iterator<Item = (&'a str, u64)> + '_ {
        self.roles.iter().copied().zip(self.live.iter().copied())
    }

    /// An event happened.
    pub(super) fn apply(&mut self, event: &Event) {
        match *event {
            Event::Take { label, .. } if self.is_staying(label) => {}
            Event::Take { block, bytes, label, .. } => {
                let role = self.add(label, bytes.0);
                if let Some(old) = self.blocks.insert(block, (role, bytes.0)) {
                    self.remove(old);
                }
            }
            Event::Free { block, .. } => {
                if let Some(old) = self.blocks.remove(&block) {
                    self.remove(old);
                }
            }
        }
    }

    /// Adds bytes to the sum and to a label's role, which it gives.
    fn add(&mut self, LabelId(label): LabelId, bytes: u64) -> usize {
        let role = self.role_of.get(label as usize).copied().unwrap_or(0);
        self.live[0] = self.live[0].saturating_add(bytes);
        if role > 0 {
            self.live[role] = self.live[role].saturating_add(bytes);
        }
        role
    }

    fn remove(&mut self, (role, bytes): (usize, u64)) {
        self.live[0] = self.live[0].saturating_sub(bytes);
        if role > 0 {
            self.live[role] = self.live[role].saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    #[test]
    fn what_lives_across_steps_is_there_all_the_time() {
        let labels = "label \"w\" \"parameter\" \"\" \"\"\nlabel \"m\" \"optimizer_state\" \"\" \"\"\nlabel \"a\" \"activation\" \"\" \"\"\n";
        let step = "0 take 0 at 0 bytes 8 label 0\n0 take 1 at 8 bytes 16 label 1\n1 take 2 at 24 bytes 32 label 2\n1 free 2\n1 free 1\n1 free 0\n";
        let judged = "2 take 0 at 0 bytes 8 label 0\n2 take 2 at 24 bytes 4 label 2\n3 free 2\n3 free 0\n";
        let trace = text::parse(&format!("trace 1\n{labels}{step}{judged}")).unwrap();
        let mut lives = Lives::new(&trace);
        let mut seen = Vec::new();
        for event in &trace.events {
            lives.apply(event);
            let of: HashMap<&str, u64> = lives.now().collect();
            assert_eq!((of["parameter"], of["optimizer_state"]), (8, 16));
            seen.push(of[TOTAL]);
        }
        assert_eq!(seen, [24, 24, 56, 24, 24, 24, 24, 28, 24, 24]);
    }
}
