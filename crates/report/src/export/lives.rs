//! What is live at each point of a trace, by role.

use super::{NO_ROLE, TOTAL};
use plimsoll_trace::{BlockId, Event, LabelId, Trace};
use std::collections::{BTreeMap, HashMap};

/// Roles beyond so many are one.
const MOST_ROLES: usize = 32;
/// The role of those.
const OTHERS: &str = "other roles";

/// Live bytes by role while a trace is walked.
pub(super) struct Lives<'a> {
    trace: &'a Trace,
    /// The place of each label's role in the list.
    role_of: Vec<usize>,
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
        Self { trace, role_of, roles, live, blocks: HashMap::new() }
    }

    /// The sum, then each role.
    pub(super) fn now(&self) -> impl Iterator<Item = (&'a str, u64)> + '_ {
        self.roles.iter().copied().zip(self.live.iter().copied())
    }

    /// An event happened.
    pub(super) fn apply(&mut self, event: &Event) {
        match *event {
            Event::Take { block, bytes, label: LabelId(label), .. } => {
                let role = self.role_of.get(label as usize).copied().unwrap_or(0);
                if let Some(old) = self.blocks.insert(block, (role, bytes.0)) {
                    self.remove(old);
                }
                self.live[0] = self.live[0].saturating_add(bytes.0);
                if role > 0 {
                    self.live[role] = self.live[role].saturating_add(bytes.0);
                }
            }
            Event::Free { block, .. } => {
                if let Some(old) = self.blocks.remove(&block) {
                    self.remove(old);
                }
            }
        }
    }

    /// The trace that is walked.
    pub(super) fn trace(&self) -> &'a Trace {
        self.trace
    }

    fn remove(&mut self, (role, bytes): (usize, u64)) {
        self.live[0] = self.live[0].saturating_sub(bytes);
        if role > 0 {
            self.live[role] = self.live[role].saturating_sub(bytes);
        }
    }
}
