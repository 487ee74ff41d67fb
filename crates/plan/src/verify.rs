//! The proof: a plan is run on paper, with every write remembered and every read checked.
//!
//! This knows nothing of how plans are made. It keeps a list of which value's bytes stand where; an op may run only if
//! all its inputs stand where the plan says, and whatever it writes wipes out what stood there.

use crate::{Buffer, Kernels, Plan, Target, bytes_of};
use plimsoll_graph::{Graph, Op, OpId, OpKind, Source, TensorType, ValueId};
use plimsoll_trace::{Bytes, Offset};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A plan that was proved, with the graph it is for. There is no other way to make one than [`verify`].
#[derive(Clone, Debug)]
pub struct VerifiedPlan {
    proved: Arc<(Graph, Plan)>,
}

/// Why a plan would not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum PlanError {
    #[error("the plan is for another graph: it has {found} {what}, the graph needs {wanted}")]
    OtherGraph { what: &'static str, found: usize, wanted: usize },
    #[error("op {} runs twice or does not exist", .op.0)]
    BadOrder { op: OpId },
    #[error("{value} has no buffer, or one that is too small, misaligned or outside the arena")]
    BadStorage { value: ValueId },
    #[error("step {step} reads {value}, but its bytes are not (or no longer) there")]
    Lost { step: u32, value: ValueId },
    #[error("step {step} uses a buffer outside its live range")]
    NotLive { step: u32 },
    #[error("step {step} writes {value} over something it still reads or writes")]
    Clash { step: u32, value: ValueId },
    #[error("step {step} has less scratch than its kernel needs, or scratch that overlaps its values")]
    BadScratch { step: u32 },
    #[error("after the last step, {value} is not where the caller expects it")]
    NotKept { value: ValueId },
    #[error("the plan says {what} is {said}, but it is {found}")]
    WrongFigure { what: &'static str, said: Bytes, found: Bytes },
    #[error("`{name}` lies at {} in one plan and at {} in another of the same arena", .one.0, .other.0)]
    Moved { name: String, one: Offset, other: Offset },
    #[error("`{name}` is a {one} in one plan and a {other} in another of the same arena")]
    OtherValue { name: String, one: String, other: String },
    #[error("`{one}` and `{other}`, which both live across steps, lie over each other")]
    Shared { one: String, other: String },
    #[error("what lives across steps ends at {one} in one plan and at {other} in another of the same arena")]
    OtherPersistent { one: Bytes, other: Bytes },
    #[error("the plans of an arena are for different kernels or pages")]
    OtherTarget,
    #[error("an arena needs a plan")]
    Empty,
}

/// Proves a plan for a graph on a target.
pub fn verify(graph: Graph, plan: Plan, target: &Target) -> Result<VerifiedPlan, PlanError> {
    check_size("values", plan.storage.len(), graph.values().len())?;
    check_size("scratch entries", plan.scratch.len(), plan.order.len())?;
    let mut paper = Paper { graph: &graph, plan: &plan, kernels: &*target.kernels, contents: Vec::new() };
    paper.begin()?;
    let mut seen = HashSet::new();
    for (step, &id) in plan.order.iter().enumerate() {
        if id.index() >= graph.ops().len() || !seen.insert(id) {
            return Err(PlanError::BadOrder { op: id });
        }
        paper.run(step as u32, graph.op(id))?;
    }
    paper.end()?;
    check_figures(&plan)?;
    Ok(VerifiedPlan { proved: Arc::new((graph, plan)) })
}

fn check_size(what: &'static str, found: usize, wanted: usize) -> Result<(), PlanError> {
    match found == wanted {
        true => Ok(()),
        false => Err(PlanError::OtherGraph { what, found, wanted }),
    }
}

/// Recomputes peak and floor the slow way.
fn check_figures(plan: &Plan) -> Result<(), PlanError> {
    let peak = plan.buffers.iter().map(|buffer| buffer.end().distance()).max().unwrap_or_default();
    let live_at = |step: u32| plan.buffers.iter().filter(|b| b.live.contains(&step)).map(|b| b.bytes).sum();
    let floor = (0..plan.order.len().max(1) as u32).map(live_at).max().unwrap_or_default();
    for (what, said, found) in [("the peak", plan.peak, peak), ("the floor", plan.floor, floor)] {
        if said != found {
            return Err(PlanError::WrongFigure { what, said, found });
        }
    }
    Ok(())
}

/// Which value's bytes stand where.
struct Paper<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    kernels: &'a dyn Kernels,
    contents: Vec<(Range<Offset>, ValueId)>,
}

impl Paper<'_> {
    /// Inputs and persistent values are there before the first step, and do not overlap.
    fn begin(&mut self) -> Result<(), PlanError> {
        for id in self.graph.value_ids() {
            if !matches!(self.graph.value(id).source, Source::Op(_)) {
                let range = self.range(id)?;
                if self.contents.iter().any(|(other, _)| overlap(other, &range)) {
                    return Err(PlanError::Clash { step: 0, value: id });
                }
                self.contents.push((range, id));
            }
        }
        Ok(())
    }

    fn run(&mut self, step: u32, op: &Op) -> Result<(), PlanError> {
        let mut inputs = Vec::new();
        for &value in &op.inputs {
            let range = self.range(value)?;
            self.check_live(step, value)?;
            if !self.contents.contains(&(range.clone(), value)) {
                return Err(PlanError::Lost { step, value });
            }
            inputs.push(range);
        }
        let scratch = self.scratch(step, op)?;
        let mut written: Vec<Range<Offset>> = Vec::new();
        for (index, &value) in op.outputs.iter().enumerate() {
            let range = self.range(value)?;
            self.check_live(step, value)?;
            let allowed = |input: usize| range == inputs[input] && self.may_share(&op.kind, input, index);
            let clashes = (0..inputs.len()).any(|input| overlap(&range, &inputs[input]) && !allowed(input))
                || written.iter().chain(&scratch).any(|other| overlap(&range, other));
            if clashes {
                return Err(PlanError::Clash { step, value });
            }
            written.push(range);
        }
        if scratch.iter().any(|scratch| inputs.iter().any(|input| overlap(scratch, input))) {
            return Err(PlanError::BadScratch { step });
        }
        if !op.kind.is_view() {
            let wiped =
                |range: &Range<Offset>| written.iter().chain(&scratch).any(|other| overlap(range, other));
            self.contents.retain(|(range, _)| !wiped(range));
        }
        self.contents.extend(written.into_iter().zip(op.outputs.iter().copied()));
        Ok(())
    }

    /// Outputs are there, and every persistent place holds the value itself or its update.
    fn end(&self) -> Result<(), PlanError> {
        let kept = |value: ValueId, range: Range<Offset>| self.contents.contains(&(range, value));
        for &value in self.graph.outputs() {
            if !kept(value, self.range(value)?) {
                return Err(PlanError::NotKept { value });
            }
        }
        let updates: Vec<(ValueId, ValueId)> = (self.graph.ops().iter())
            .flat_map(|op| op.kind.updates().into_iter().map(|u| (op.inputs[u.input], op.outputs[u.output])))
            .collect();
        for value in self.graph.persistents() {
            let newest = updates.iter().find(|(old, _)| *old == value).map_or(value, |(_, new)| *new);
            if !kept(newest, self.range(value)?) {
                return Err(PlanError::NotKept { value });
            }
        }
        Ok(())
    }

    /// Whether an output may stand exactly where an input stands.
    fn may_share(&self, kind: &OpKind, input: usize, output: usize) -> bool {
        let is_update = kind.updates().iter().any(|update| (update.input, update.output) == (input, output));
        kind.is_view() || is_update || self.kernels.in_place(kind).contains(&(input, output))
    }

    /// The bytes of a value (not of its whole buffer) in the arena.
    fn range(&self, value: ValueId) -> Result<Range<Offset>, PlanError> {
        let bad = PlanError::BadStorage { value };
        let buffer = self.buffer(value).ok_or(bad.clone())?;
        let bytes = bytes_of(self.graph.tensor(value));
        let inside = buffer.offset.0.checked_add(buffer.bytes.0).is_some_and(|end| end <= self.plan.peak.0);
        match inside && bytes <= buffer.bytes && buffer.offset.is_aligned(self.plan.alignment) {
            true => Ok(buffer.offset..buffer.offset + bytes),
            false => Err(bad),
        }
    }

    fn buffer(&self, value: ValueId) -> Option<&Buffer> {
        let id = self.plan.storage.get(value.index()).copied().flatten()?;
        self.plan.buffers.get(id.0 as usize)
    }

    fn check_live(&self, step: u32, value: ValueId) -> Result<(), PlanError> {
        match self.buffer(value).is_some_and(|buffer| buffer.live.contains(&step)) {
            true => Ok(()),
            false => Err(PlanError::NotLive { step }),
        }
    }

    fn scratch(&self, step: u32, op: &Op) -> Result<Option<Range<Offset>>, PlanError> {
        let types = |values: &[ValueId]| -> Vec<TensorType> {
            values.iter().map(|&value| self.graph.tensor(value).clone()).collect()
        };
        let wanted = self.kernels.scratch(&op.kind, &types(&op.inputs), &types(&op.outputs));
        let bad = PlanError::BadScratch { step };
        let Some(id) = self.plan.scratch[step as usize] else {
            return if wanted == Bytes::ZERO { Ok(None) } else { Err(bad) };
        };
        let buffer = self.plan.buffers.get(id.0 as usize).ok_or(bad.clone())?;
        let fits = buffer.bytes >= wanted
            && buffer.live.contains(&step)
            && buffer.offset.is_aligned(self.plan.alignment)
            && buffer.offset.0.checked_add(buffer.bytes.0).is_some_and(|end| end <= self.plan.peak.0);
        if fits { Ok(Some(buffer.offset..buffer.end())) } else { Err(bad) }
    }
}

fn overlap(a: &Range<Offset>, b: &Range<Offset>) -> bool {
    a.start < b.end && b.start < a.end
}

impl VerifiedPlan {
    /// What is computed.
    pub fn graph(&self) -> &Graph {
        &self.proved.0
    }

    /// When and where.
    pub fn plan(&self) -> &Plan {
        &self.proved.1
    }
}
