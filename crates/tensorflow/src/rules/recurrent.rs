//! Recurrent layers: Keras 3 runs them as a `while` loop over the positions, products with the input included.
//!
//! Evidence, from the trace of an LSTM over 64 positions: 32 iterations are under way at a time, so 32 gradients of
//! each kernel are live together; every position's input, gates, state and result are kept, in eager mode also what is
//! added up for them; a list of zeros as large as the input waits for the input's gradient.

mod plain;
mod sums;

pub use plain::{find as find_plain, forward as plain};

use super::layout;
use crate::lowering::{Backward, Call, Lowering};
use crate::program::{KernelId, TensorId};
use plimsoll_graph::{Graph, Op, OpId, OpKind, Source, ValueId};
use std::collections::HashSet;
use sums::Sums;

/// How many iterations of a loop TensorFlow lets run ahead: `parallel_iterations` in Keras's `rnn`.
const ITERATIONS_AHEAD: usize = 32;

/// A recurrent layer's operands and sizes.
#[derive(Clone, Copy)]
struct Layer {
    x: ValueId,
    kernel: ValueId,
    recurrent: ValueId,
    bias: Option<ValueId>,
    positions: usize,
    /// Bytes of one position: of the input, of the projection, of the state.
    input: u64,
    gates: u64,
    state: u64,
}

impl Layer {
    /// Whether the gradients of the kernels wait for their zeros until everything else is done. A longer loop cannot go
    /// on without them.
    fn waits(&self, at: &Lowering<'_>) -> bool {
        at.variant.late_zeros && self.positions <= ITERATIONS_AHEAD
    }
}

/// What others see of a loop.
#[derive(Clone, Copy)]
struct Shown {
    /// Its value.
    value: ValueId,
    /// Whether that is the result of every position.
    sequence: bool,
}

impl Shown {
    fn by(graph: &Graph, op: &Op) -> Self {
        Self { value: op.outputs[0], sequence: !gives_last_only(graph, op) }
    }
}

/// What one iteration keeps for its gradient.
struct Step {
    /// Whether it belongs to the last iterations, after which none waits.
    is_late: bool,
    input: TensorId,
    previous: TensorId,
    kernel: TensorId,
    recurrent: TensorId,
    kept: Vec<TensorId>,
}

/// The ops that are part of a recurrent layer that its rule lowers as a whole: the projection of the input.
pub fn absorbed(graph: &Graph) -> HashSet<OpId> {
    let recurrent = graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Lstm(_) | OpKind::Gru(_)));
    recurrent.flat_map(|op| projection(graph, op)).collect()
}

/// Whether a slice takes the last state of a recurrent layer that gives no other.
pub fn takes_last_state(at: &Lowering<'_>, op: &Op) -> bool {
    matches!(op.kind, OpKind::Slice(_))
        && producer(at.graph, op.inputs[0]).is_some_and(|from| gives_last_only(at.graph, at.graph.op(from)))
}

/// An LSTM: four gates, a cell and its activation are kept for each position.
pub fn lstm(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let Some(layer) = layer(at, op) else { return layout::moved(at, op, "While", "While") };
    run(at, Shown::by(at.graph, op), layer, 4, |at, layer, projected, state| {
        let sum = at.reuse("AddV2", &[projected, state.1], layer.gates);
        let gates: Vec<TensorId> = (0..4).map(|_| at.fresh("Split", &[sum], layer.state)).collect();
        let gates: Vec<TensorId> =
            gates.iter().map(|&gate| at.reuse("Sigmoid", &[gate], layer.state)).collect();
        let forgotten = at.fresh("Mul", &[gates[0], state.0], layer.state);
        let added = at.fresh("Mul", &[gates[1], gates[2]], layer.state);
        let cell = at.reuse("AddV2", &[forgotten, added], layer.state);
        let active = at.fresh("Tanh", &[cell], layer.state);
        let result = at.fresh("Mul", &[gates[3], active], layer.state);
        let mut kept = [gates, vec![cell, active]].concat();
        if at.is_eager() {
            kept.extend([projected, state.1, forgotten, added]);
        }
        (cell, result, kept)
    })
}

/// A GRU: three gates, the inner product and a complement are kept for each position.
pub fn gru(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let Some(layer) = layer(at, op) else { return layout::moved(at, op, "While", "While") };
    run(at, Shown::by(at.graph, op), layer, 3, |at, layer, projected, state| {
        let outer: Vec<TensorId> = (0..3).map(|_| at.fresh("Split", &[projected], layer.state)).collect();
        let biased = if at.is_eager() { at.fresh("AddV2", &[state.1], layer.gates) } else { state.1 };
        let inner: Vec<TensorId> = (0..3).map(|_| at.fresh("Split", &[biased], layer.state)).collect();
        let mut sums: Vec<TensorId> =
            (0..2).map(|gate| at.reuse("AddV2", &[outer[gate], inner[gate]], layer.state)).collect();
        let gates: Vec<TensorId> = sums.iter().map(|&sum| at.reuse("Sigmoid", &[sum], layer.state)).collect();
        let reset = at.fresh("Mul", &[gates[1], inner[2]], layer.state);
        let candidate = at.reuse("AddV2", &[outer[2], reset], layer.state);
        sums.push(candidate);
        let candidate = at.reuse("Tanh", &[candidate], layer.state);
        let rest = at.fresh("Sub", &[gates[0]], layer.state);
        let old = at.fresh("Mul", &[gates[0], state.0], layer.state);
        let new = at.fresh("Mul", &[rest, candidate], layer.state);
        let result = at.reuse("AddV2", &[old, new], layer.state);
        let mut kept = [gates, vec![inner[2], candidate, rest]].concat();
        if at.is_eager() {
            // The tape holds whatever a gradient asks for its shape (three GRUs: 22 states a position).
            kept.extend([&outer[..], &inner[..2], &sums[..], &[state.1, biased, reset, old, new]].concat());
        }
        (result, result, kept)
    })
}

type Cell =
    fn(&mut Lowering<'_>, Layer, TensorId, (TensorId, TensorId)) -> (TensorId, TensorId, Vec<TensorId>);

/// The loop forward: `cell` makes the new memory and result of `(memory, product with the result)`.
fn run(at: &mut Lowering<'_>, shown: Shown, layer: Layer, gates: usize, cell: Cell) -> Backward {
    let whole = layer.input * layer.positions as u64;
    let turned = at.fresh("Transpose", &[at.tensor(layer.x)], whole);
    let inputs: Vec<TensorId> =
        (0..layer.positions).map(|_| at.fresh("TensorListFromTensor", &[turned], layer.input)).collect();
    let unstacked = at.last();
    // A graph adds the gradients of the positions to a list of zeros; a tape has one gradient for each.
    let zeros: Vec<Option<TensorId>> = (0..layer.positions)
        .map(|_| (!at.is_eager()).then(|| after(at, "ZerosLike", &[], layer.input, unstacked)))
        .collect();
    let mut memory = at.call(Call { name: "Zeros", bytes: layer.state, early: true, ..Call::default() });
    let mut result = memory;
    let mut steps: Vec<Step> = Vec::new();
    let mut ends: Vec<Vec<KernelId>> = Vec::new();
    for &input in &inputs {
        let before = before(&ends);
        let [kernel, recurrent] = [layer.kernel, layer.recurrent].map(|value| weight(at, value, &before));
        let reads = [input, kernel];
        let projected = at.call(Call {
            name: "MatMul",
            reads: &reads,
            bytes: layer.gates,
            after: &before,
            ..Call::default()
        });
        let product = at.fresh("MatMul_1", &[result, recurrent], layer.gates);
        let previous = result;
        let (new_memory, new_result, kept) = cell(at, layer, projected, (memory, product));
        (memory, result) = (new_memory, new_result);
        ends.push(vec![at.last()]);
        // The backward loop begins at the last position.
        let is_late = steps.len() < (layer.positions - 1) % ITERATIONS_AHEAD + 1;
        steps.push(Step { is_late, input, previous, kernel, recurrent, kept });
    }
    let Shown { value, sequence } = shown;
    let states = if sequence { stack(at, &steps, result, at.bytes(value)) } else { result };
    at.set(value, states);
    Box::new(move |at, dy| backward(at, layer, gates, steps, zeros, dy, sequence))
}

/// A kernel as one iteration reads it: under a mixed policy every iteration casts it again, and keeps that (three GRUs
/// in float16: 50 casts of each kernel).
fn weight(at: &mut Lowering<'_>, value: ValueId, before: &[KernelId]) -> TensorId {
    let tensor = at.tensor(value);
    match at.setup.precision.is_mixed() && at.program.tensor(tensor).owner.is_variable() {
        true => {
            let bytes = at.bytes(value);
            at.call(Call { name: "Cast", reads: &[tensor], bytes, after: before, ..Call::default() })
        }
        false => tensor,
    }
}

/// All results as one tensor, turned so that the batch comes first.
fn stack(at: &mut Lowering<'_>, steps: &[Step], last: TensorId, bytes: u64) -> TensorId {
    let mut results: Vec<TensorId> = steps.iter().skip(1).map(|step| step.previous).collect();
    results.push(last);
    let stacked = at.fresh("TensorListStack", &results, bytes);
    at.fresh("Transpose", &[stacked], bytes)
}

/// The loop backward: the gradients of the kernels wait until 32 iterations are done or the loop is.
fn backward(
    at: &mut Lowering<'_>,
    layer: Layer,
    gates: usize,
    steps: Vec<Step>,
    zeros: Vec<Option<TensorId>>,
    dy: TensorId,
    sequence: bool,
) {
    let mut sums = Sums::new(at, layer);
    // A sequence's gradient is turned and cut into one tensor a position; a last state's has only one.
    let mut slices = if sequence { unstacked(at, layer, dy) } else { vec![dy] };
    let mut of_result = slices.pop().expect("a sequence has a position");
    let mut inputs = Vec::new();
    let mut ends: Vec<Vec<KernelId>> = Vec::new();
    for (step, zero) in steps.into_iter().zip(zeros).rev() {
        let before = before(&ends);
        let first = [of_result, step.kept[0]];
        let through = at.call(Call {
            name: "Mul",
            reads: &first,
            bytes: layer.state,
            after: &before,
            ..Call::default()
        });
        let mut parts = vec![through];
        for pair in step.kept.windows(2).take(gates - 1) {
            parts.push(at.fresh("Mul", &[through, pair[0], pair[1]], layer.state));
        }
        let rest = [&parts[..], &step.kept[gates - 1..]].concat();
        let joined = at.fresh("ConcatV2", &rest, layer.gates);
        sums.add(at, &step, joined);
        let of_input = at.fresh("MatMul", &[joined, step.kernel], layer.input);
        inputs.push(zero.map_or(of_input, |zero| at.fresh("AddN", &[of_input, zero], layer.input)));
        of_result = at.fresh("MatMul", &[joined, step.recurrent], layer.state);
        if let Some(slice) = slices.pop() {
            of_result = at.reuse("AddN", &[of_result, slice], layer.state);
        }
        ends.push(sums.ends.clone());
    }
    // Gradients that wait for their zeros keep nobody else waiting.
    let ends = if layer.waits(at) { Vec::new() } else { sums.ends.clone() };
    sums.give(at);
    if at.wants(layer.x) {
        let bytes = layer.input * layer.positions as u64;
        let stacked =
            at.call(Call { name: "TensorListStack", reads: &inputs, bytes, after: &ends, ..Call::default() });
        let gradient = at.fresh("Transpose", &[stacked], bytes);
        at.give(layer.x, gradient);
    }
}

fn unstacked(at: &mut Lowering<'_>, layer: Layer, dy: TensorId) -> Vec<TensorId> {
    let turned = at.fresh("Transpose", &[dy], layer.state * layer.positions as u64);
    at.several("TensorListFromTensor", &[turned], layer.state, layer.positions)
}

fn after(
    at: &mut Lowering<'_>,
    name: &'static str,
    reads: &[TensorId],
    bytes: u64,
    before: KernelId,
) -> TensorId {
    at.call(Call { name, reads, bytes, after: &[before], ..Call::default() })
}

/// What an iteration waits for: nothing, or the end of the last one that could run ahead with it.
fn before(ends: &[Vec<KernelId>]) -> Vec<KernelId> {
    let boundary = ends.len().is_multiple_of(ITERATIONS_AHEAD);
    ends.last().filter(|_| boundary).cloned().unwrap_or_default()
}

/// Nothing if the loop does not read a projection, which no layer makes.
fn layer(at: &Lowering<'_>, op: &Op) -> Option<Layer> {
    let absorbed = projection(at.graph, op);
    let product = at.graph.op(*absorbed.last()?);
    let bias = absorbed.iter().map(|&id| at.graph.op(id)).find(|op| matches!(op.kind, OpKind::BiasAdd(_)));
    let (x, kernel) = (product.inputs[0], product.inputs[1]);
    let shape = &at.graph.tensor(op.inputs[0]).shape;
    let positions = shape[1];
    let at_position = |value: ValueId| at.bytes(value) / positions as u64;
    Some(Layer {
        x,
        kernel,
        recurrent: op.inputs[1],
        bias: bias.map(|op| op.inputs[1]),
        positions,
        input: at_position(x),
        gates: at_position(op.inputs[0]),
        state: at_position(op.outputs[0]),
    })
}

/// The ops between the input of a recurrent layer and its loop: bias and product.
fn projection(graph: &Graph, op: &Op) -> Vec<OpId> {
    let mut ops = Vec::new();
    let mut value = op.inputs[0];
    while let Some(id) = producer(graph, value) {
        ops.push(id);
        let before = graph.op(id);
        if matches!(before.kind, OpKind::MatMul(_)) {
            return ops;
        }
        if !matches!(before.kind, OpKind::BiasAdd(_)) {
            break;
        }
        value = before.inputs[0];
    }
    Vec::new()
}

fn producer(graph: &Graph, value: ValueId) -> Option<OpId> {
    match graph.value(value).source {
        Source::Op(op) => Some(op),
        Source::Input | Source::Persistent(_) => None,
    }
}

/// Whether only the last state of a recurrent layer is read.
pub fn gives_last_only(graph: &Graph, op: &Op) -> bool {
    let recurrent = matches!(op.kind, OpKind::Lstm(_) | OpKind::Gru(_));
    let mut readers = graph.ops().iter().filter(|reader| reader.inputs.contains(&op.outputs[0])).peekable();
    recurrent
        && readers.peek().is_some()
        && readers.all(|reader| matches!(&reader.kind, OpKind::Slice(slice) if slice.size[1] == 1))
}
