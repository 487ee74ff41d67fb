//! Ops bound to addresses of the host, one after another: binding one costs far less than running it, and what it
//! takes to keep all of them bound would count for every program. Nothing is allocated.

#![allow(unsafe_code)]

use crate::backend::{Cause, Guard};
use crate::kernels::{Call, Input, Output, Scratch, cpu};
use plimsoll_graph::{ElementType, Graph, Op, OpId, ValueId};
use plimsoll_memory::HostArena;
use plimsoll_plan::{Plan, VerifiedPlan, bytes_of};
use plimsoll_trace::Bytes;

/// Views with room for any op of some plans, bound to none.
pub(crate) fn unbound(plans: &[VerifiedPlan]) -> BoundStep {
    let ops = || plans.iter().flat_map(|plan| plan.graph().ops());
    let mut step = BoundStep::unbound(OpId(0), Guard::None);
    step.inputs.reserve_exact(ops().map(|op| op.inputs.len()).max().unwrap_or(0));
    step.outputs.reserve_exact(ops().map(|op| op.outputs.len()).max().unwrap_or(0));
    step
}

/// Binds a step of a plan to an arena.
///
/// # Panics
/// If the arena is smaller than the plan's peak.
pub(crate) fn bind(step: &mut BoundStep, plan: &VerifiedPlan, index: usize, memory: &mut HostArena) {
    let (graph, layout) = (plan.graph(), plan.plan());
    step.op = layout.order[index];
    let op = graph.op(step.op);
    let mut reach = Bytes::ZERO;
    let mut address = |value: ValueId| {
        let buffer = layout.buffer_of(value).expect("a verified plan stores what it computes");
        reach = reach.max(buffer.end().distance());
        aligned(memory.address(buffer.offset, bytes_of(graph.tensor(value))), layout)
    };
    step.inputs.clear();
    for (input, &value) in op.inputs.iter().enumerate() {
        let (tensor, start) = (graph.tensor(value).clone(), address(value).cast_const());
        // SAFETY: the arena outlives the views, the address was checked to lie inside it and to be aligned, and the
        // verified plan keeps everything but the output that replaces it away while the step runs.
        step.inputs.push(unsafe { Input::new(tensor, start, replaced_by(graph, layout, op, input)) });
    }
    step.outputs.clear();
    for &value in &op.outputs {
        let (tensor, start) = (graph.tensor(value).clone(), address(value));
        // SAFETY: as above; the verified plan gives each output of a step bytes of its own.
        step.outputs.push(unsafe { Output::new(tensor, start) });
    }
    step.scratch = layout.scratch[index].map(|buffer| {
        let buffer = layout.buffer(buffer);
        reach = reach.max(buffer.end().distance());
        let start = aligned(memory.address(buffer.offset, buffer.bytes), layout);
        // SAFETY: as above; the verified plan keeps scratch apart from all values of its step.
        unsafe { Scratch::new(start, buffer.bytes.as_usize() / 4) }
    });
    step.reach = reach;
}

/// Runs an op, unless a guarded input is not finite, and looks at a guarded output.
pub(crate) fn run_guarded(graph: &Graph, step: &mut BoundStep) -> Result<(), Cause> {
    let op = graph.op(step.op);
    if let Guard::Input(index) = step.guard
        && !are_finite(step.inputs[index].f32())
    {
        return Err(Cause::NotFinite(op.inputs[index]));
    }
    run(op, step)?;
    match step.guard {
        Guard::Output(index) if !are_finite(step.outputs[index].f32()) => {
            Err(Cause::NotFinite(op.outputs[index]))
        }
        _ => Ok(()),
    }
}

/// Finds the first output of an op that is not finite.
pub(crate) fn check_outputs(graph: &Graph, step: &mut BoundStep) -> Result<(), Cause> {
    for (output, &value) in step.outputs.iter_mut().zip(&graph.op(step.op).outputs) {
        if output.tensor().element == ElementType::F32 && !are_finite(output.f32()) {
            return Err(Cause::NotFinite(value));
        }
    }
    Ok(())
}

pub(crate) fn are_finite(elements: &[f32]) -> bool {
    // A sum of zeros times the elements is NaN if one of them is not finite, and vectorises.
    let probe = |elements: &[f32]| elements.iter().fold(0.0f32, |sum, x| sum + x * 0.0);
    elements.chunks(1 << 12).all(|chunk| probe(chunk) == 0.0)
}

/// One op with the views its kernel gets.
pub(crate) struct BoundStep {
    pub(crate) op: OpId,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) scratch: Option<Scratch>,
    /// The end of the highest buffer that the views of this step show.
    pub(crate) reach: Bytes,
    /// What is checked to be finite in every run.
    pub(crate) guard: Guard,
}

impl BoundStep {
    /// A step whose views are still to be made.
    pub(crate) fn unbound(op: OpId, guard: Guard) -> Self {
        Self { op, inputs: Vec::new(), outputs: Vec::new(), scratch: None, reach: Bytes::ZERO, guard }
    }
}

fn run(op: &Op, step: &mut BoundStep) -> Result<(), Cause> {
    if op.kind.is_view() {
        return Ok(());
    }
    let scratch = step.scratch.as_mut().map_or(&mut [][..], |scratch| scratch.f32());
    let call = Call { inputs: &step.inputs, outputs: &mut step.outputs, scratch };
    cpu::run(&op.kind, call).map_err(Cause::Kernel)
}

/// Offsets are aligned; addresses are, too, if every page begins at such an address.
fn aligned(address: *mut u8, layout: &Plan) -> *mut u8 {
    assert!(address.addr().is_multiple_of(layout.alignment.bytes() as usize), "pages are aligned");
    address
}

/// The output that shares its buffer with an input.
fn replaced_by(graph: &Graph, layout: &Plan, op: &Op, input: usize) -> Option<usize> {
    let storage = |value: ValueId| layout.storage[value.index()];
    let shared = op.outputs.iter().position(|&output| storage(output) == storage(op.inputs[input]));
    debug_assert!(shared.is_none_or(|output| {
        bytes_of(graph.tensor(op.outputs[output])) == bytes_of(graph.tensor(op.inputs[input]))
    }));
    shared
}
