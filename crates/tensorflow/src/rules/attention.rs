//! Attention as Keras 3 computes it without dropout: two `Einsum`s with a softmax between them.

use super::elementwise::softmax_gradient;
use crate::lowering::{Backward, Lowering};
use crate::program::TensorId;
use plimsoll_graph::Op;

/// Each `Einsum` turns both operands into scratch. Query, key, value and the weights are kept, and so are scores as
/// large as heads x queries x keys (transformer: `einsum/Einsum`, 4 MiB beside operands of 1 MiB).
pub fn attention(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [q, k, v] = [op.inputs[0], op.inputs[1], op.inputs[2]];
    let y = op.outputs[0];
    let element = at.element();
    let [n, t, h, s] = {
        let (query, key) = (&at.graph.tensor(q).shape, &at.graph.tensor(k).shape);
        [at.samples(q), query[1] as u64, query[2] as u64, key[1] as u64]
    };
    let (scores, wide) = (n * h * t * s * element, n * h * t * s * 4);
    let (query, key, value) = (at.tensor(q), at.tensor(k), at.tensor(v));
    let product = einsum(at, &[key, query], scores);
    let scaled = at.reuse("Mul", &[product], scores);
    let scaled = cast(at, scaled, wide);
    let softmax = at.reuse("Softmax", &[scaled], wide);
    let weights = cast(at, softmax, scores);
    let result = einsum(at, &[weights, value], at.bytes(y));
    at.set(y, result);
    Box::new(move |at, dy| {
        let to_value = einsum(at, &[dy, weights], at.bytes(v));
        at.give(v, to_value);
        let to_weights = einsum(at, &[dy, value], scores);
        let to_softmax = cast(at, to_weights, wide);
        let to_scaled = softmax_gradient(at, softmax, to_softmax, wide, n * h * t * 4);
        let to_scaled = cast(at, to_scaled, scores);
        let to_scores = at.reuse("Mul", &[to_scaled], scores);
        let to_key = einsum(at, &[to_scores, query], at.bytes(k));
        at.give(k, to_key);
        let to_query = einsum(at, &[to_scores, key], at.bytes(q));
        at.give(q, to_query);
    })
}

/// Softmax is computed in float32 under every policy.
fn cast(at: &mut Lowering<'_>, tensor: TensorId, bytes: u64) -> TensorId {
    if at.program.tensor(tensor).bytes == bytes { tensor } else { at.fresh("Cast", &[tensor], bytes) }
}

/// The larger operand, the scores, is not turned.
fn einsum(at: &mut Lowering<'_>, reads: &[TensorId; 2], bytes: u64) -> TensorId {
    let sizes = reads.map(|read| at.program.tensor(read).bytes);
    let turned = sizes[0].min(sizes[1]);
    at.scratchy("Einsum", reads, bytes, &[turned, turned.min(bytes)])
}
