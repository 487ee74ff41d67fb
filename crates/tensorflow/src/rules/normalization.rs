//! Normalizations, which Keras 3 writes out of means, differences and products.

use crate::lowering::{Backward, Call, Lowering};
use crate::program::TensorId;
use plimsoll_graph::{Op, ValueId};

/// What a normalization with batch normalization's kernels reads beside its argument.
#[derive(Clone, Copy)]
pub struct Affine {
    /// The scale and the shift, where it has them.
    pub gamma: Option<ValueId>,
    /// See `gamma`.
    pub beta: Option<ValueId>,
    /// The bytes of a statistic.
    pub small: u64,
    /// The bytes that a mean turns its argument into, where it does not add neighbours up.
    pub turned: u64,
}

/// Batch normalization is not fused on the CPU. It keeps its argument; while it runs there is one more tensor of its
/// size, in the gradient there are three (ResNet-50: `moments/SquaredDifference`, then `moments/Tile`, `mul_1/Mul_1`,
/// `moments/Tile_1`).
pub fn batch_norm(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [x, gamma, beta] = [op.inputs[0], op.inputs[1], op.inputs[2]];
    let small = at.elements(gamma) * 4;
    standardized(at, x, op.outputs[0], Affine { gamma: Some(gamma), beta: Some(beta), small, turned: 0 })
}

/// The kernels of batch normalization.
pub fn standardized(at: &mut Lowering<'_>, x: ValueId, y: ValueId, affine: Affine) -> Backward {
    let Affine { gamma, beta, small, turned } = affine;
    let bytes = at.elements(x) * 4;
    let argument = widened(at, at.tensor(x), x);
    let (mean, squares, variance) = moments(at, argument, bytes, small, turned);
    let reads: Vec<TensorId> = [variance].into_iter().chain(gamma.map(|gamma| at.tensor(gamma))).collect();
    let scale = at.fresh("Mul", &reads, small);
    let product = at.fresh("Mul", &[scale, argument], bytes);
    let reads: Vec<TensorId> = [mean, scale].into_iter().chain(beta.map(|beta| at.tensor(beta))).collect();
    let shift = at.fresh("Sub", &reads, small);
    let result = at.reuse("AddV2", &[product, shift], bytes);
    let result = narrowed(at, result, x);
    at.set(y, result);
    Box::new(move |at, dy| {
        let dy = widened(at, dy, x);
        at.read_shapes(&[product], dy);
        let straight = at.reuse("Mul", &[dy, scale], bytes);
        let product = at.fresh("Mul", &[dy, argument], bytes);
        let product_sum = at.fresh("Sum", &[product], small);
        let sum = at.fresh("Sum", &[dy], small);
        beta.into_iter().for_each(|beta| give_small(at, beta, sum));
        gamma.into_iter().for_each(|gamma| give_small(at, gamma, product_sum));
        let to_mean = at.fresh("Neg", &[sum, scale], small);
        let tile = at.fresh("Tile", &[to_mean], bytes);
        let from_mean = at.reuse("Mul", &[tile], bytes);
        let to_variance = at.fresh("RsqrtGrad", &[product_sum, sum, variance], small);
        let from_variance = variance_gradient(at, [argument, mean, squares], to_variance, bytes);
        let gradient = at.reuse("AddN", &[from_variance, from_mean, straight], bytes);
        let gradient = narrowed(at, gradient, x);
        at.give(x, gradient);
    })
}

/// The gradient of a parameter of which every sample may have a copy.
fn give_small(at: &mut Lowering<'_>, parameter: ValueId, gradient: TensorId) {
    let bytes = at.elements(parameter) * 4;
    let is_sum = at.program.tensor(gradient).bytes != bytes;
    let gradient = if is_sum { at.fresh("Sum", &[gradient], bytes) } else { gradient };
    at.give(parameter, gradient);
}

/// Layer normalization keeps its argument and the product of scale and deviation, which is as large as the argument
/// (transformer: `ln/mul`). The gradients of its parameters wait for the end and keep two more.
pub fn layer_norm(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [x, gamma, beta] = [op.inputs[0], op.inputs[1], op.inputs[2]];
    let bytes = at.elements(x) * 4;
    let rows = bytes / at.graph.tensor(x).shape.last().max(1) as u64;
    let small = at.elements(gamma) * 4;
    let argument = widened(at, at.tensor(x), x);
    let (mean, squares, variance) = moments(at, argument, bytes, rows, 0);
    let scale = at.fresh("Mul", &[variance, at.tensor(gamma)], bytes);
    let negative = at.fresh("Neg", &[mean], rows);
    let shift = at.fresh("Mul", &[negative, scale], bytes);
    let product = at.fresh("Mul", &[argument, scale], bytes);
    let moved = at.reuse("AddV2", &[shift, at.tensor(beta)], bytes);
    let result = at.reuse("AddV2", &[product, moved], bytes);
    let result = narrowed(at, result, x);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let dy = widened(at, dy, x);
        at.read_shapes(&[shift, product, moved], dy);
        let sum = at.fresh("Sum", &[dy], small);
        at.give(beta, sum);
        let of_shift = at.fresh("Mul", &[dy, negative], bytes);
        let of_product = at.fresh("Mul", &[dy, argument], bytes);
        let straight = at.reuse("Mul", &[dy, scale], bytes);
        let of_scale = at.reuse("AddN", &[of_shift, of_product], bytes);
        let by_deviation = at.reuse("Mul", &[of_scale, variance], bytes);
        let sum = at.fresh("Sum", &[by_deviation], small);
        at.give(gamma, sum);
        let by_gamma = at.reuse("Mul", &[of_scale, at.tensor(gamma)], bytes);
        let to_variance = at.fresh("Sum", &[by_gamma], rows);
        let to_mean = at.fresh("Sum", &[straight], rows);
        let tile = at.fresh("Tile", &[to_mean], bytes);
        let from_mean = at.reuse("Mul", &[tile], bytes);
        let from_variance = variance_gradient(at, [argument, mean, squares], to_variance, bytes);
        let gradient = at.reuse("AddN", &[from_variance, from_mean, straight], bytes);
        let gradient = narrowed(at, gradient, x);
        at.give(x, gradient);
    })
}

/// Mean, squared differences from it, and their mean.
fn moments(
    at: &mut Lowering<'_>,
    argument: TensorId,
    bytes: u64,
    small: u64,
    turned: u64,
) -> (TensorId, TensorId, TensorId) {
    let scratch = if turned > 0 && at.on_cpu() { vec![turned] } else { Vec::new() };
    let mean = at.scratchy("Mean", &[argument], small, &scratch);
    let squares = at.fresh("SquaredDifference", &[argument, mean], bytes);
    (mean, squares, at.scratchy("Mean", &[squares], small, &scratch))
}

/// Stretched over the argument, and multiplied with its distance from the mean, which takes the argument's place.
fn variance_gradient(
    at: &mut Lowering<'_>,
    [argument, mean, squares]: [TensorId; 3],
    to_variance: TensorId,
    bytes: u64,
) -> TensorId {
    at.read_shapes(&[squares], to_variance);
    let tile = at.fresh("Tile", &[to_variance], bytes);
    let scaled = at.reuse("Mul", &[tile], bytes);
    let after = [at.last()];
    let reads = [argument, mean];
    let distance =
        at.call(Call { name: "Sub", reads: &reads, bytes, in_place: true, after: &after, ..Call::default() });
    at.reuse("Mul", &[scaled, distance], bytes)
}

/// Statistics are computed in float32: a half tensor is cast first.
fn widened(at: &mut Lowering<'_>, tensor: TensorId, like: ValueId) -> TensorId {
    cast(at, tensor, like, at.elements(like) * 4)
}

fn narrowed(at: &mut Lowering<'_>, tensor: TensorId, like: ValueId) -> TensorId {
    cast(at, tensor, like, at.bytes(like))
}

fn cast(at: &mut Lowering<'_>, tensor: TensorId, like: ValueId, bytes: u64) -> TensorId {
    if at.bytes(like) == at.elements(like) * 4 { tensor } else { at.fresh("Cast", &[tensor], bytes) }
}
