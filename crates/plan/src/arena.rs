//! The proof of an arena: several plans, each proved alone, that run one at a time in the same bytes.
//!
//! Equations, besides those of each plan:
//! - a persistent value of one name has the same type, role and offset in all plans.
//! - persistent values of different names do not overlap, whoever has them.
//! - `persistent` is the same in all plans, so nobody's transient bytes lie on anybody's persistent ones.
//! - `persistent = max over persistent values of all plans of offset + bytes`.
//! - `peak = max over plans of peak`.

use crate::{Plan, PlanError, Target, VerifiedPlan, bytes_of, verify};
use plimsoll_graph::{Graph, Value};
use plimsoll_trace::{Bytes, Offset};
use std::collections::HashMap;

/// Proves plans that share an arena on a target.
pub fn verify_arena(plans: Vec<(Graph, Plan)>, target: &Target) -> Result<VerifiedArena, PlanError> {
    let prove = |(graph, plan)| verify(graph, plan, target);
    let plans = plans.into_iter().map(prove).collect::<Result<Vec<_>, _>>()?;
    check_together(&plans)?;
    Ok(VerifiedArena { plans, target: target.clone() })
}

/// Plans that were proved, each alone and all together. There is no other way to make one than [`verify_arena`].
#[derive(Clone, Debug)]
pub struct VerifiedArena {
    plans: Vec<VerifiedPlan>,
    target: Target,
}

impl VerifiedArena {
    /// The plans of several arenas for one target, proved to have room in one.
    pub fn join<'a>(arenas: impl IntoIterator<Item = &'a Self>) -> Result<Self, PlanError> {
        let mut joined: Option<Self> = None;
        for arena in arenas {
            match &mut joined {
                None => joined = Some(arena.clone()),
                Some(first) => {
                    first.target.check_same(&arena.target)?;
                    first.plans.extend(arena.plans.iter().cloned());
                }
            }
        }
        let joined = joined.ok_or(PlanError::NoPlan)?;
        check_together(&joined.plans)?;
        Ok(joined)
    }

    /// The same without its last plan, which nobody will run; nothing if it is the only one.
    pub fn without_last(mut self) -> Result<Self, PlanError> {
        self.plans.pop();
        check_together(&self.plans)?;
        Ok(self)
    }

    /// The plans, in the order in which they were given.
    pub fn plans(&self) -> &[VerifiedPlan] {
        &self.plans
    }

    /// What the plans are for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The size of the arena.
    pub fn peak(&self) -> Bytes {
        self.plans.iter().map(|plan| plan.plan().peak).max().unwrap_or_default()
    }

    /// Where the bytes that live across steps end.
    pub fn persistent(&self) -> Bytes {
        self.plans.first().map_or(Bytes::ZERO, |plan| plan.plan().persistent)
    }

    /// What no buffer crosses a multiple of.
    pub fn page(&self) -> Option<Bytes> {
        self.target.page
    }
}

fn check_together(plans: &[VerifiedPlan]) -> Result<(), PlanError> {
    let first = plans.first().ok_or(PlanError::NoPlan)?.plan();
    let one = first.persistent;
    if let Some(other) = plans.iter().map(|plan| plan.plan().persistent).find(|&other| other != one) {
        return Err(PlanError::OtherPersistent { one, other });
    }
    let buffers = plans.iter().flat_map(|plan| &plan.plan().buffers);
    let ends = buffers.filter(|buffer| buffer.role.is_persistent()).map(|buffer| buffer.end().distance());
    let (said, found) = (one, ends.max().unwrap_or_default());
    if said != found {
        return Err(PlanError::WrongFigure { what: "the end of what lives across steps", said, found });
    }
    let residents = residents(plans)?;
    for pair in residents.windows(2) {
        let [(start, one), (next, other)] = [pair[0], pair[1]];
        if start + bytes_of(&one.tensor) > next {
            return Err(PlanError::Shared { one: one.name.clone(), other: other.name.clone() });
        }
    }
    Ok(())
}

/// Every persistent value of the plans once, from the bottom of the arena to its top.
fn residents(plans: &[VerifiedPlan]) -> Result<Vec<(Offset, &Value)>, PlanError> {
    let mut by_name: HashMap<&str, (Offset, &Value)> = HashMap::new();
    for (graph, plan) in plans.iter().map(|proved| (proved.graph(), proved.plan())) {
        for id in graph.persistents() {
            let (value, buffer) = (graph.value(id), plan.buffer_of(id));
            let offset = buffer.ok_or(PlanError::BadStorage { value: id })?.offset;
            let (before, first) = *by_name.entry(&value.name).or_insert((offset, value));
            check_same((before, first), (offset, value))?;
        }
    }
    let mut all: Vec<(Offset, &Value)> = by_name.into_values().collect();
    // Nothing overlaps an empty value, so where it stands among others of its offset must not matter.
    all.retain(|(_, value)| bytes_of(&value.tensor) > Bytes::ZERO);
    all.sort_by_key(|&(offset, value)| (offset, &value.name));
    Ok(all)
}

/// Two plans mean the same by a name.
fn check_same((at, one): (Offset, &Value), (place, other): (Offset, &Value)) -> Result<(), PlanError> {
    let what = |value: &Value| format!("{} {}", value.role, value.tensor);
    let name = || one.name.clone();
    if (one.role, &one.tensor) != (other.role, &other.tensor) {
        return Err(PlanError::OtherValue { name: name(), one: what(one), other: what(other) });
    }
    match at == place {
        true => Ok(()),
        false => Err(PlanError::Moved { name: name(), one: at, other: place }),
    }
}
