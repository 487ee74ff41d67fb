//! Elementwise functions of several results: residual connections, gates.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// What several results become, element by element, stretched to a common shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// Their sum.
    Add,
    /// The first without the second.
    Subtract,
    /// Their product.
    Multiply,
    /// The largest.
    Maximum,
    /// The smallest.
    Minimum,
    /// Their mean.
    Average,
}

impl Merge {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::Average => "average",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let values: Vec<ValueId> = inputs.iter().map(|input| input.value).collect();
        let wrong_count = values.len() < 2 || (*self == Self::Subtract && values.len() != 2);
        if wrong_count {
            return Err(at.refusal(&values, format!("it does not take {} inputs", values.len())));
        }
        let values = aligned(at, &values)?;
        let mut merged = fold(at, self.pairwise(), &values)?;
        if *self == Self::Average {
            merged = at.op(Unary::MultiplyScalar(1.0 / values.len() as f32), &[merged])?;
        }
        Ok(Signal { value: merged, mask: merged_mask(at, inputs)? })
    }

    fn pairwise(self) -> Binary {
        match self {
            Self::Add | Self::Average => Binary::Add,
            Self::Subtract => Binary::Subtract,
            Self::Multiply => Binary::Multiply,
            Self::Maximum => Binary::Maximum,
            Self::Minimum => Binary::Minimum,
        }
    }
}

/// As in Keras: values of a lower rank get axes of extent 1 after the batch.
fn aligned(at: &mut Context<'_>, values: &[ValueId]) -> Result<Vec<ValueId>, ShapeError> {
    let rank = values.iter().map(|&value| at.shape(value).rank()).max().unwrap_or(0);
    let mut aligned = Vec::with_capacity(values.len());
    for &value in values {
        let mut extents = at.shape(value).extents().to_vec();
        let missing = rank - extents.len();
        if !extents.is_empty() {
            extents.splice(1..1, vec![1; missing]);
        }
        aligned.push(at.reshaped(value, Shape::new(extents))?);
    }
    Ok(aligned)
}

/// As in Keras: a position counts if it counts in any of the inputs; there is no mask if any input has none.
fn merged_mask(at: &mut Context<'_>, inputs: &[Signal]) -> Result<Option<ValueId>, ShapeError> {
    let Some(mut masks) = inputs.iter().map(|input| input.mask).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    masks.dedup();
    fold(at, Binary::Maximum, &masks).map(Some)
}

fn fold(at: &mut Context<'_>, binary: Binary, values: &[ValueId]) -> Result<ValueId, ShapeError> {
    let (&first, rest) = values.split_first().expect("the inputs have been counted");
    rest.iter().try_fold(first, |merged, &value| at.op(binary, &[merged, value]))
}
