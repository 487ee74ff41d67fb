//! Batch normalization over all axes but one.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{
    BatchNorm, BatchNormInference, BiasAdd, Binary, Concat, Fill, Reduce, Reduction, Slice, Unary,
};
use plimsoll_graph::{Init, Shape, ShapeError, TensorType, ValueId};
use serde::{Deserialize, Serialize};

/// Channels of mean 0 and variance 1, then scaled and moved. In training the statistics are those of the batch,
/// and their moving averages are kept for inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchNormalization {
    /// The axis of the channels; counted from the end if negative.
    pub axis: isize,
    /// How much of the old moving average stays.
    pub momentum: f32,
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether `beta` is added.
    pub center: bool,
    /// Whether `gamma` multiplies.
    pub scale: bool,
}

impl Default for BatchNormalization {
    fn default() -> Self {
        Self { axis: -1, momentum: 0.99, epsilon: 1e-3, center: true, scale: true }
    }
}

impl BatchNormalization {
    /// The same with another epsilon.
    pub fn epsilon(self, epsilon: f32) -> Self {
        Self { epsilon, ..self }
    }

    /// The same with another momentum.
    pub fn momentum(self, momentum: f32) -> Self {
        Self { momentum, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "batch_normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let axis = at.axis(self.axis, x.value)?;
        if axis == 0 {
            return Err(at.refusal(&[x.value], "there is no axis of features".to_string()));
        }
        if let Some(mask) = x.mask.filter(|_| at.is_learning()) {
            return self.over_real_positions(at, x, axis, mask);
        }
        let turned = at.exchanged(x.value, axis)?;
        let result = self.over_last_axis(at, turned)?;
        Ok(x.with(at.exchanged(result, axis)?))
    }

    /// The layer at each position of a sequence `[batch, length, ...]` by itself: each has statistics of its own, which
    /// the moving averages follow one after the other.
    pub(super) fn step_by_step(&self, at: &mut Context<'_>, x: Signal) -> Lowered {
        let extents = at.shape(x.value).extents().to_vec();
        let (length, mut results) = (extents[1], Vec::new());
        for position in 0..length {
            let value = cut(at, x.value, position)?;
            let mask = x.mask.map(|mask| cut(at, mask, position)).transpose()?;
            at.begin_step(position, length);
            let result = self.lower(at, &[Signal { value, mask }])?;
            let mut shape = extents.clone();
            shape[1] = 1;
            results.push(at.reshaped(result.value, Shape::new(shape))?);
        }
        at.begin_step(0, 1);
        let joined = if length == 1 { results[0] } else { at.op(Concat { axis: 1 }, &results)? };
        Ok(x.with(joined))
    }

    /// In training, with statistics of the positions that are not padding.
    fn over_real_positions(&self, at: &mut Context<'_>, x: Signal, axis: usize, mask: ValueId) -> Lowered {
        let shape = at.shape(x.value).clone();
        let (channels, last) = (shape.last(), shape.rank() - 1);
        if axis != last || at.shape(mask).extents() != &shape.extents()[..last] {
            let problem = format!("statistics along axis {axis} with a mask of shape {}", at.shape(mask));
            return Err(at.refusal(&[x.value], format!("{problem} are not supported")));
        }
        let gamma = scale_or_ones(at, self.scale, channels)?;
        let beta = center_or_zeros(at, self.center, channels)?;
        let moving_mean = at.statistic("moving_mean", TensorType::f32([channels]), 0.0)?;
        let moving_variance = at.statistic("moving_variance", TensorType::f32([channels]), 1.0)?;
        let sum =
            |rank: usize| Reduce { reduction: Reduction::Sum, axes: (0..rank).collect(), keep_axes: false };
        let count = at.op(sum(last), &[mask])?;
        // Keras's epsilon keeps a batch of nothing but padding from dividing by 0.
        let count = at.op(Unary::AddScalar(1e-7), &[count])?;
        let mask = at.mask_for(mask, last + 1)?;
        let kept = at.op(Binary::Multiply, &[x.value, mask])?;
        let total = at.op(sum(last), &[kept])?;
        let mean = at.op(Binary::Divide, &[total, count])?;
        let difference = at.op(Binary::Subtract, &[x.value, mean])?;
        let kept = at.op(Binary::Multiply, &[difference, mask])?;
        let squares = at.op(Unary::Square, &[kept])?;
        let total = at.op(sum(last), &[squares])?;
        let variance = at.op(Binary::Divide, &[total, count])?;
        at.follow(moving_mean, self.momentum, mean)?;
        at.follow(moving_variance, self.momentum, variance)?;
        let widened = at.op(Unary::AddScalar(self.epsilon), &[variance])?;
        let factor = at.op(Unary::Rsqrt, &[widened])?;
        let factor = at.op(Binary::Multiply, &[factor, gamma])?;
        let scaled = at.op(Binary::Multiply, &[difference, factor])?;
        Ok(x.with(at.op(BiasAdd {}, &[scaled, beta])?))
    }

    fn over_last_axis(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        let channels = at.features(x)?;
        let gamma = scale_or_ones(at, self.scale, channels)?;
        let beta = center_or_zeros(at, self.center, channels)?;
        let mean = at.statistic("moving_mean", TensorType::f32([channels]), 0.0)?;
        let variance = at.statistic("moving_variance", TensorType::f32([channels]), 1.0)?;
        if !at.is_learning() {
            let norm = BatchNormInference { epsilon: self.epsilon };
            return at.op(norm, &[x, gamma, beta, mean, variance]);
        }
        let outputs = at.ops(BatchNorm { epsilon: self.epsilon }, &[x, gamma, beta])?;
        at.follow(mean, self.momentum, outputs[1])?;
        at.follow(variance, self.momentum, outputs[2])?;
        Ok(outputs[0])
    }
}

/// One position of `[batch, length, ...]`, without the axis.
fn cut(at: &mut Context<'_>, sequence: ValueId, position: usize) -> Result<ValueId, ShapeError> {
    let mut size = at.shape(sequence).extents().to_vec();
    let mut start = vec![0; size.len()];
    (start[1], size[1]) = (position, 1);
    let cut = at.op(Slice { start, size: size.clone() }, &[sequence])?;
    size.remove(1);
    at.reshaped(cut, Shape::new(size))
}

/// The parameter `gamma`, or ones where nothing is learned.
pub(super) fn scale_or_ones(at: &mut Context<'_>, scale: bool, extent: usize) -> Result<ValueId, ShapeError> {
    learned_or_constant(at, scale.then_some("gamma"), extent, 1.0)
}

/// The parameter `beta`, or zeros where nothing is learned.
pub(super) fn center_or_zeros(
    at: &mut Context<'_>,
    center: bool,
    extent: usize,
) -> Result<ValueId, ShapeError> {
    learned_or_constant(at, center.then_some("beta"), extent, 0.0)
}

fn learned_or_constant(
    at: &mut Context<'_>,
    name: Option<&str>,
    extent: usize,
    value: f32,
) -> Result<ValueId, ShapeError> {
    match name {
        Some(name) => at.parameter(name, [extent], Init::Constant(value)),
        None => at.op(Fill { shape: [extent].into(), value }, &[]),
    }
}
