//! Where buffers lie: inside the arena, as the target wants it, what is persistent below all others, and apart while
//! they are live together. Sizes and live ranges were checked before.

use super::users::holder;
use crate::{Buffer, Plan, PlanError, Target};
use plimsoll_graph::Graph;
use plimsoll_trace::Bytes;
use std::collections::BTreeMap;

/// Checks every offset, and the figures that follow from them.
pub(super) fn check(graph: &Graph, plan: &Plan, target: &Target) -> Result<(), PlanError> {
    plan.buffers.iter().try_for_each(|buffer| check_size(graph, buffer, target))?;
    let mut peak = Bytes::ZERO;
    for buffer in &plan.buffers {
        let end = check_place(graph, plan, buffer, target)?;
        peak = peak.max(end);
    }
    let floor = check_apart(graph, plan)?;
    for (what, said, found) in [("the peak", plan.peak, peak), ("the floor", plan.floor, floor)] {
        if said != found {
            return Err(PlanError::WrongFigure { what, said, found });
        }
    }
    Ok(())
}

fn check_size(graph: &Graph, buffer: &Buffer, target: &Target) -> Result<(), PlanError> {
    for (what, limit) in [("page", target.page), ("binding", target.binding)] {
        if let Some(limit) = limit.filter(|&limit| buffer.bytes > limit) {
            let holder = holder(graph, buffer);
            return Err(PlanError::TooLarge { holder, bytes: buffer.bytes, what, limit });
        }
    }
    Ok(())
}

/// Checks one offset; gives where the buffer ends.
fn check_place(graph: &Graph, plan: &Plan, buffer: &Buffer, target: &Target) -> Result<Bytes, PlanError> {
    let bad = |problem| Err(PlanError::BadPlace { holder: holder(graph, buffer), problem });
    let start = buffer.offset.0;
    let Some(end) = start.checked_add(buffer.bytes.0) else { return bad("beyond all memory") };
    // What has no bytes lies across nothing.
    let last = end.saturating_sub(1).max(start);
    let crosses = |page: Bytes| start / page.0 != last / page.0;
    match buffer.role.is_persistent() {
        _ if !buffer.offset.is_aligned(target.alignment) => bad("misaligned"),
        _ if target.page.is_some_and(crosses) => bad("across two pages"),
        true if end > plan.persistent.0 => bad("above where what lives across steps ends"),
        false if start < plan.persistent.0 => bad("among what lives across steps"),
        _ => Ok(Bytes(end)),
    }
}

/// Walks over time with the live buffers by offset; gives the most bytes that were live at once.
fn check_apart(graph: &Graph, plan: &Plan) -> Result<Bytes, PlanError> {
    // Ends sort before starts of the same step: live ranges are half-open.
    let mut changes: Vec<(u32, bool, usize)> = Vec::with_capacity(2 * plan.buffers.len());
    for (index, buffer) in plan.buffers.iter().enumerate().filter(|(_, buffer)| buffer.bytes > Bytes::ZERO) {
        changes.extend([(buffer.live.start, true, index), (buffer.live.end, false, index)]);
    }
    changes.sort_unstable();
    let mut live: BTreeMap<u64, usize> = BTreeMap::new();
    let (mut now, mut most) = (Bytes::ZERO, Bytes::ZERO);
    for (step, begins, index) in changes {
        let buffer = &plan.buffers[index];
        if !begins {
            live.remove(&buffer.offset.0);
            now = now - buffer.bytes;
            continue;
        }
        let below = live.range(..=buffer.offset.0).next_back().map(|(_, &other)| other);
        let above = live.range(buffer.offset.0..).next().map(|(_, &other)| other);
        for other in below.into_iter().chain(above).map(|other| &plan.buffers[other]) {
            if other.offset < buffer.end() && buffer.offset < other.end() {
                let [one, other] = [other, buffer].map(|buffer| holder(graph, buffer));
                return Err(PlanError::Overlap { one, other, step });
            }
        }
        live.insert(buffer.offset.0, index);
        now += buffer.bytes;
        most = most.max(now);
    }
    Ok(most)
}
