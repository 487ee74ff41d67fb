//! The proof of one plan: it is run on paper, with every write remembered and every read checked.
//!
//! This knows nothing of how plans are made, and takes nothing a plan says for granted. Three arguments, one file each,
//! make the proof: each buffer is what its users need, for as long as they need it (`users`); buffers that are live
//! together lie apart, where the target allows (`layout`); and in each buffer stands what is read from it (here). A
//! buffer's bytes are touched by nobody else while it is live, so what stands in it changes only when one of its own
//! values is written.

mod layout;
mod users;

use crate::{Kernels, Plan, PlanError, Target};
use plimsoll_graph::{Graph, Op, OpKind, Source, ValueId};
use plimsoll_trace::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// A plan that was proved, with the graph it is for. There is no other way to make one than [`crate::verify_arena`].
#[derive(Clone, Debug)]
pub struct VerifiedPlan {
    proved: Arc<(Graph, Plan)>,
}

/// Proves a plan for a graph on a target.
pub fn verify(graph: Graph, plan: Plan, target: &Target) -> Result<VerifiedPlan, PlanError> {
    check_target(&plan, target)?;
    users::check(&graph, &plan, target)?;
    layout::check(&graph, &plan, target)?;
    check_contents(&graph, &plan, &*target.kernels)?;
    Ok(VerifiedPlan { proved: Arc::new((graph, plan)) })
}

/// The plan is for this target, and the target is one that plans can be made for.
fn check_target(plan: &Plan, target: &Target) -> Result<(), PlanError> {
    let said = Target { alignment: plan.alignment, page: plan.page, ..target.clone() };
    target.check_same(&said)?;
    match target.page {
        Some(page) if page == Bytes::ZERO || page.aligned(target.alignment) != page => {
            Err(PlanError::BadPage { page, alignment: target.alignment })
        }
        _ => Ok(()),
    }
}

/// Runs the plan on paper.
fn check_contents(graph: &Graph, plan: &Plan, kernels: &dyn Kernels) -> Result<(), PlanError> {
    let mut paper = Paper { graph, plan, kernels, contents: vec![Vec::new(); plan.buffers.len()] };
    paper.begin()?;
    for (step, &id) in plan.order.iter().enumerate() {
        paper.run(step as u32, graph.op(id))?;
    }
    paper.end()
}

struct Paper<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    kernels: &'a dyn Kernels,
    /// For each buffer, the values whose bytes stand in it: one, or one and views of it.
    contents: Vec<Vec<ValueId>>,
}

impl Paper<'_> {
    /// Inputs and persistent values are there before the first step.
    fn begin(&mut self) -> Result<(), PlanError> {
        for value in self.graph.value_ids() {
            if !matches!(self.graph.value(value).source, Source::Op(_)) {
                let buffer = self.buffer(value)?;
                if !self.contents[buffer].is_empty() {
                    return Err(PlanError::Clash { step: 0, value });
                }
                self.contents[buffer].push(value);
            }
        }
        Ok(())
    }

    fn run(&mut self, step: u32, op: &Op) -> Result<(), PlanError> {
        let mut read = Vec::with_capacity(op.inputs.len());
        for &value in &op.inputs {
            if !self.holds(value)? {
                return Err(PlanError::Lost { step, value });
            }
            read.push(self.buffer(value)?);
        }
        let mut written = Vec::with_capacity(op.outputs.len());
        for (output, &value) in op.outputs.iter().enumerate() {
            let buffer = self.buffer(value)?;
            // A view does nothing when it runs, so its bytes must already be its input's.
            if op.kind.is_view() && read.first() != Some(&buffer) {
                return Err(PlanError::BadView { step, value });
            }
            let may_share = |input: usize| self.may_share(&op.kind, input, output);
            let clashes = (0..read.len()).any(|input| read[input] == buffer && !may_share(input));
            if clashes || written.contains(&buffer) {
                return Err(PlanError::Clash { step, value });
            }
            written.push(buffer);
        }
        for (buffer, &value) in written.into_iter().zip(&op.outputs) {
            if !op.kind.is_view() {
                self.contents[buffer].clear();
            }
            self.contents[buffer].push(value);
        }
        Ok(())
    }

    /// Outputs are there, and every persistent place holds the value itself or its update.
    fn end(&self) -> Result<(), PlanError> {
        let updates = self.graph.ops().iter().flat_map(|op| {
            op.kind.updates().into_iter().map(|update| (op.inputs[update.input], op.outputs[update.output]))
        });
        let newest: HashMap<ValueId, ValueId> = updates.collect();
        for &value in self.graph.outputs() {
            if !self.holds(value)? {
                return Err(PlanError::NotKept { value });
            }
        }
        for value in self.graph.persistents() {
            let kept = newest.get(&value).copied().unwrap_or(value);
            if !self.contents[self.buffer(value)?].contains(&kept) {
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

    fn holds(&self, value: ValueId) -> Result<bool, PlanError> {
        Ok(self.contents[self.buffer(value)?].contains(&value))
    }

    fn buffer(&self, value: ValueId) -> Result<usize, PlanError> {
        users::buffer_of(self.plan, value)
    }
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
