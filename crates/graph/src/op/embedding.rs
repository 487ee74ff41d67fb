//! Looking up rows of a table by their number, with the gradient.

use super::expect::{Inferred, ensure, extents, floats, integers, operands, shape};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `(table [rows,d], ids i32[...]) -> y [...,d]`. An id outside the table is an error of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedding {}

/// `(ids i32[...], dy [...,d]) -> dtable [rows,d]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingGradient {
    /// The number of rows of the table.
    pub rows: usize,
}

impl Embedding {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [table, ids] = operands(inputs)?;
        floats(&[table])?;
        integers(ids)?;
        let [_, width] = extents("the table", table)?;
        Ok(vec![table.reshaped(appended(&ids.shape, width))])
    }

    /// The table is for all, or the same rows are taken of every sample's part of it.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        let [table, ids] = [&at.inputs[0], &at.inputs[1]];
        table.axis.is_none() || (table.axis == Some(1) && ids.axis.is_none())
    }
}

impl EmbeddingGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [ids, dy] = operands(inputs)?;
        integers(ids)?;
        floats(&[dy])?;
        ensure(dy.shape.rank() > 0, || "the gradient is a scalar".to_string())?;
        let width = dy.shape.last();
        shape("the gradient", dy, appended(&ids.shape, width))?;
        Ok(vec![dy.reshaped([self.rows, width])])
    }

    /// Gradients are sums over samples or not asked about.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}

fn appended(shape: &Shape, extent: usize) -> Shape {
    Shape::new([shape.extents(), &[extent]].concat())
}
