//! Elements of a row by their positions, with the gradient.

use super::expect::{Inferred, ensure, floats, integers, operands, shape};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `(x [...,n], positions i32[...,m]) -> y [...,m]`: of each row of `x` the elements that the same row of positions
/// names. A position outside of the row is an error of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeAlong {}

/// `(positions i32[...,m], dy [...,m]) -> dx [...,extent]`: each element gets the sum of what was read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeAlongGradient {
    /// The length of the rows that were read.
    pub extent: usize,
}

impl TakeAlong {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, positions] = operands(inputs)?;
        floats(&[x])?;
        integers(positions)?;
        ensure(x.shape.rank() > 0 && positions.shape.rank() > 0, || "there are no rows".to_string())?;
        shape("the positions", positions, with_last(&x.shape, positions.shape.last()))?;
        Ok(vec![x.reshaped(positions.shape.clone())])
    }

    /// Rows that hold several samples would be looked along.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}

impl TakeAlongGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [positions, dy] = operands(inputs)?;
        integers(positions)?;
        floats(&[dy])?;
        ensure(dy.shape.rank() > 0, || "the gradient is a scalar".to_string())?;
        shape("the gradient", dy, positions.shape.clone())?;
        Ok(vec![dy.reshaped(with_last(&dy.shape, self.extent))])
    }

    /// Rows that hold several samples would be looked along.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}

fn with_last(shape: &Shape, extent: usize) -> Shape {
    let mut extents = shape.extents().to_vec();
    *extents.last_mut().expect("the rank was checked") = extent;
    Shape::new(extents)
}
