//! The gradients of batch normalization: with the statistics of the batch, and with given statistics.

use super::{Backward, Contributions};
use plimsoll_graph::op::{
    BatchNorm, BatchNormGradient, BatchNormInference, Binary, Reduce, Reduction, Unary,
};
use plimsoll_graph::{ShapeError, ValueId};

pub(crate) fn gradient(op: &BatchNorm, at: &mut Backward<'_>) -> Contributions {
    let (x, gamma, dy) = (at.input(0), at.input(1), at.gradient());
    let (mean, variance) = (at.output(1), at.output(2));
    let gradients = at.add(BatchNormGradient { epsilon: op.epsilon }, &[x, gamma, mean, variance, dy])?;
    Ok(gradients.into_iter().map(Some).collect())
}

/// Given statistics make it a chain of elementwise ops, `y = (x - mean) r gamma + beta` with
/// `r = 1 / sqrt(variance + epsilon)`.
pub(crate) fn gradient_inference(op: &BatchNormInference, at: &mut Backward<'_>) -> Contributions {
    let (gamma, dy) = (at.input(1), at.gradient());
    let shifted = at.single(Unary::AddScalar(op.epsilon), &[at.input(4)])?;
    let inverse = at.single(Unary::Rsqrt, &[shifted])?;
    let scale = at.single(Binary::Multiply, &[gamma, inverse])?;
    let dx = at.needs(0).then(|| at.single(Binary::Multiply, &[dy, scale])).transpose()?;
    let needs_beta = at.needs(2) || at.needs(3);
    let dbeta = needs_beta.then(|| channel_sum(at, dy)).transpose()?;
    let needs_gamma = at.needs(1) || at.needs(4);
    let dgamma = needs_gamma.then(|| scale_gradient(at, inverse)).transpose()?;
    let dmean = dbeta.filter(|_| at.needs(3)).map(|dbeta| {
        let product = at.single(Binary::Multiply, &[dbeta, scale])?;
        at.single(Unary::Negate, &[product])
    });
    let dmean = dmean.transpose()?;
    let dvariance = dgamma.filter(|_| at.needs(4)).map(|dgamma| {
        let product = at.single(Binary::Multiply, &[dgamma, scale])?;
        let product = at.single(Binary::Multiply, &[product, inverse])?;
        at.single(Unary::MultiplyScalar(-0.5), &[product])
    });
    Ok(vec![dx, dgamma, dbeta, dmean, dvariance.transpose()?])
}

/// `r sum(dy (x - mean))`
fn scale_gradient(at: &mut Backward<'_>, inverse: ValueId) -> Result<ValueId, ShapeError> {
    let centred = at.single(Binary::Subtract, &[at.input(0), at.input(3)])?;
    let product = at.single(Binary::Multiply, &[at.gradient(), centred])?;
    let sum = channel_sum(at, product)?;
    at.single(Binary::Multiply, &[sum, inverse])
}

fn channel_sum(at: &mut Backward<'_>, value: ValueId) -> Result<ValueId, ShapeError> {
    let axes = (0..at.shape(value).rank() - 1).collect();
    at.single(Reduce { reduction: Reduction::Sum, axes, keep_axes: false }, &[value])
}
