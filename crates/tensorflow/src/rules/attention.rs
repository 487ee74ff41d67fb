//! Attention as Keras 3 computes it without dropout: two `Einsum`s with a softmax between them.

use super::elementwise::softmax_gradient;
use crate::lowering::{Backward, Lowering};
use crate::program::TensorId;
use plimsoll_graph::Op;

/// Each `Einsum` turns both operands into scratch. Query, key, value and the weights are kept, and so are scores as large as
/// heads x queries x keys (transformer: `einsum/Einsum`, 4 MiB beside operands of 1 MiB).
pub fn attention(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [q, k, v] = [op.inputs[0], op.inputs[1], op.inputs[2]];
    let y = op.outputs[0];
    let element = at.setup.precision.bytes();
    let [n, t, h, s] = {
        let (query, key) = (&at.graph.tensor(q).shape, &at.graph.tensor(k).shape);
        [query[0] as u64, query[1] as u64, query[2] as u64, key[1] as u64]
    };
    let (scores, rows) = (n * h * t * s * element, n * h * t * element);
    let (query, key, value) = (at.tensor(q), at.tensor(k), at.tensor(v));
    let product = einsum(at, &[key, query], scores);
    let scaled = at.reuse("Mul", &[product], scores);
    let weights = at.reuse("Softmax", &[scaled], scores);
    let result = einsum(at, &[weights, value], at.bytes(y));
    at.set(y, result);
    Box::new(move |at, dy| {
        let to_value = einsum(at, &[dy, weights], at.bytes(v));
        at.give(v, to_value);
        let to_weights = einsum(at, &[dy, value], scores);
        let to_scaled = softmax_gradient(at, weights, to_weights, scores, rows);
        let to_scores = at.reuse("Mul", &[to_scaled], scores);
        let to_key = einsum(at, &[to_scores, query], at.bytes(k));
        at.give(k, to_key);
        let to_query = einsum(at, &[to_scores, key], at.bytes(q));
        at.give(q, to_query);
    })
}

/// The larger operand, the scores, is not turned.
fn einsum(at: &mut Lowering<'_>, reads: &[TensorId; 2], bytes: u64) -> TensorId {
    let sizes = reads.map(|read| at.program.tensor(read).bytes);
    let turned = sizes[0].min(sizes[1]);
    at.scratchy("Einsum", reads, bytes, &[turned, turned.min(bytes)])
}
