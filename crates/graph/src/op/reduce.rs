//! Sums, means, maxima and products over axes; global pooling is one of these.

use super::expect::{Inferred, ensure, floats, operands, shape};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// What many elements become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The largest.
    Max,
    /// Their product.
    Product,
}

/// `x -> y` with the given axes reduced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduce {
    /// What is computed.
    pub reduction: Reduction,
    /// The axes that disappear, ascending.
    pub axes: Vec<usize>,
    /// Whether they stay with extent 1.
    pub keep_axes: bool,
}

/// `(x, y, dy) -> dx` of a maximum: equal maxima share the gradient equally, as in TensorFlow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReduceMaxGradient {
    /// The axes that were reduced, ascending.
    pub axes: Vec<usize>,
    /// Whether they stayed with extent 1.
    pub keep_axes: bool,
}

impl Reduce {
    /// A reduction of all axes to a scalar.
    pub fn all(reduction: Reduction, rank: usize) -> Self {
        Self { reduction, axes: (0..rank).collect(), keep_axes: false }
    }

    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        Ok(vec![x.reshaped(reduced(&x.shape, &self.axes, self.keep_axes)?)])
    }

    /// Samples meet where they are added up or compared.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.inputs[0].axis.is_none_or(|axis| !self.axes.contains(&axis))
    }
}

impl ReduceMaxGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, y, dy] = operands(inputs)?;
        floats(&[x, y, dy])?;
        let wanted = reduced(&x.shape, &self.axes, self.keep_axes)?;
        shape("the result", y, wanted.clone())?;
        shape("the gradient", dy, wanted)?;
        Ok(vec![x.clone()])
    }

    /// Samples meet where they were compared.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.inputs[0].axis.is_none_or(|axis| !self.axes.contains(&axis))
    }
}

fn reduced(shape: &Shape, axes: &[usize], keep_axes: bool) -> Result<Shape, String> {
    let ascending = axes.windows(2).all(|pair| pair[0] < pair[1]);
    ensure(ascending && axes.iter().all(|&axis| axis < shape.rank()), || {
        format!("{axes:?} are no ascending axes of {shape}")
    })?;
    let extents = (0..shape.rank()).filter_map(|axis| match axes.contains(&axis) {
        false => Some(shape[axis]),
        true => keep_axes.then_some(1),
    });
    Ok(Shape::new(extents.collect::<Vec<_>>()))
}
