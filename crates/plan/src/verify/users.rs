//! Every buffer is exactly what its users need: its size, its live range, its role and its list of values follow from
//! the graph, the order, and who is said to stand where.

use crate::{Buffer, Plan, PlanError, Target, bytes_of};
use plimsoll_graph::{Graph, Op, Role, Source, TensorType, ValueId};
use plimsoll_trace::Bytes;
use std::collections::HashSet;
use std::ops::Range;

/// Checks the order, and every field of every buffer but its offset.
pub(super) fn check(graph: &Graph, plan: &Plan, target: &Target) -> Result<(), PlanError> {
    check_count("values", plan.storage.len(), graph.values().len())?;
    check_count("scratch entries", plan.scratch.len(), plan.order.len())?;
    let mut seen = HashSet::new();
    if let Some(&op) = plan.order.iter().find(|op| op.index() >= graph.ops().len() || !seen.insert(**op)) {
        return Err(PlanError::BadOrder { op });
    }
    let mut users = Users { graph, plan, target, found: vec![None; plan.buffers.len()] };
    users.find()?;
    for (buffer, found) in users.found.iter().enumerate() {
        let found = found.as_ref().ok_or(PlanError::Unused { buffer })?;
        if let Some(what) = wrong_field(graph, &plan.buffers[buffer], found, target) {
            let holder = holder(graph, &plan.buffers[buffer]);
            return Err(PlanError::BadBuffer { buffer, holder, what });
        }
    }
    Ok(())
}

/// Who a buffer is for, in words.
pub(super) fn holder(graph: &Graph, buffer: &Buffer) -> String {
    let first = buffer.values.first().and_then(|value| graph.values().get(value.index()));
    first.map_or("scratch".to_string(), |value| format!("`{}`", value.name))
}

/// The number of the buffer of a value, if there is one of that number.
pub(super) fn buffer_of(plan: &Plan, value: ValueId) -> Result<usize, PlanError> {
    let id = plan.storage.get(value.index()).copied().flatten();
    let buffer = id.map(|id| id.0 as usize).filter(|&id| id < plan.buffers.len());
    buffer.ok_or(PlanError::BadStorage { value })
}

fn check_count(what: &'static str, found: usize, wanted: usize) -> Result<(), PlanError> {
    match found == wanted {
        true => Ok(()),
        false => Err(PlanError::OtherGraph { what, found, wanted }),
    }
}

/// What a buffer must be.
#[derive(Clone)]
struct Found {
    bytes: Bytes,
    live: Range<u32>,
    /// In the order in which they come to be.
    values: Vec<ValueId>,
}

fn wrong_field(graph: &Graph, buffer: &Buffer, found: &Found, target: &Target) -> Option<&'static str> {
    let Found { bytes, live, values } = found;
    let role = values.first().map_or(Role::Workspace, |&first| graph.value(first).role);
    let checks = [
        ("size", buffer.bytes == bytes.aligned(target.alignment)),
        ("live range", buffer.live == *live),
        ("list of values", buffer.values == *values),
        ("role", buffer.role == role),
    ];
    checks.into_iter().find(|(_, holds)| !holds).map(|(what, _)| what)
}

struct Users<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    target: &'a Target,
    /// For each buffer what it must be, as far as its users are known.
    found: Vec<Option<Found>>,
}

impl Users<'_> {
    /// What the caller writes is there from the first step; what is persistent or an output stays to the last one.
    fn find(&mut self) -> Result<(), PlanError> {
        let (graph, plan) = (self.graph, self.plan);
        let last = plan.order.len().saturating_sub(1) as u32;
        for value in graph.value_ids().filter(|&id| !matches!(graph.value(id).source, Source::Op(_))) {
            self.store(value, 0)?;
        }
        for (step, &id) in plan.order.iter().enumerate() {
            self.add_op(graph.op(id), step as u32)?;
        }
        for value in graph.persistents().chain(graph.outputs().iter().copied()) {
            self.touch(value, last)?;
        }
        self.check_stored()
    }

    fn add_op(&mut self, op: &Op, step: u32) -> Result<(), PlanError> {
        self.add_scratch(op, step)?;
        op.inputs.iter().try_for_each(|&input| self.touch(input, step))?;
        op.outputs.iter().try_for_each(|&output| self.store(output, step))
    }

    /// A value comes to be: in a buffer of its own or one that holds others of its size.
    fn store(&mut self, value: ValueId, step: u32) -> Result<(), PlanError> {
        let bytes = bytes_of(self.graph.tensor(value));
        let fresh = Found { bytes, live: step..step + 1, values: Vec::new() };
        let found = self.found[buffer_of(self.plan, value)?].get_or_insert(fresh);
        if found.bytes != bytes {
            return Err(PlanError::BadStorage { value });
        }
        found.live.end = found.live.end.max(step + 1);
        found.values.push(value);
        Ok(())
    }

    /// A value is read in a step. Whether its bytes are there is another question.
    fn touch(&mut self, value: ValueId, step: u32) -> Result<(), PlanError> {
        let found = self.found[buffer_of(self.plan, value)?].as_mut();
        let found = found.ok_or(PlanError::BadStorage { value })?;
        found.live.end = found.live.end.max(step + 1);
        Ok(())
    }

    fn add_scratch(&mut self, op: &Op, step: u32) -> Result<(), PlanError> {
        let types = |values: &[ValueId]| -> Vec<TensorType> {
            values.iter().map(|&value| self.graph.tensor(value).clone()).collect()
        };
        let bytes = self.target.kernels.scratch(&op.kind, &types(&op.inputs), &types(&op.outputs));
        let bad = PlanError::BadScratch { step };
        let Some(id) = self.plan.scratch[step as usize] else {
            return if bytes == Bytes::ZERO { Ok(()) } else { Err(bad) };
        };
        let found = self.found.get_mut(id.0 as usize).ok_or(bad.clone())?;
        if bytes == Bytes::ZERO || found.is_some() {
            return Err(bad);
        }
        *found = Some(Found { bytes, live: step..step + 1, values: Vec::new() });
        Ok(())
    }

    /// Nothing is stored that is never computed.
    fn check_stored(&self) -> Result<(), PlanError> {
        let computed: HashSet<ValueId> = self.found.iter().flatten().flat_map(|f| f.values.clone()).collect();
        let stored = |id: &ValueId| self.plan.storage[id.index()].is_some();
        match self.graph.value_ids().find(|id| stored(id) && !computed.contains(id)) {
            None => Ok(()),
            Some(value) => Err(PlanError::BadStorage { value }),
        }
    }
}
