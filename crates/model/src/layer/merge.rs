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
        let rank = at.shape(values[0]).rank();
        let masked = inputs.iter().any(|input| input.mask.is_some())
            && values.iter().all(|&value| at.shape(value).rank() == rank);
        match self {
            Self::Multiply if masked => return product(at, inputs).map(Signal::bare),
            Self::Maximum | Self::Minimum if masked => return self.chosen(at, inputs).map(Signal::bare),
            _ => {}
        }
        let values = aligned(at, &values)?;
        let mut merged = fold(at, self.pairwise(), &values)?;
        if *self == Self::Average {
            merged = at.op(Unary::MultiplyScalar(1.0 / values.len() as f32), &[merged])?;
        }
        Ok(Signal::bare(merged))
    }

    /// The largest or smallest, where padding of one input does not count against another.
    fn chosen(self, at: &mut Context<'_>, inputs: &[Signal]) -> Result<ValueId, ShapeError> {
        let (first, rest) = inputs.split_first().expect("the inputs have been counted");
        let rank = at.shape(first.value).rank();
        let mut merged = first.value;
        let mut mask = first.mask.map(|mask| at.mask_for(mask, rank)).transpose()?;
        for input in rest {
            let mut value = input.value;
            let own = input.mask.map(|mask| at.mask_for(mask, rank)).transpose()?;
            if let Some(own) = own {
                value = either(at, own, value, merged)?;
            }
            if let Some(mask) = mask {
                merged = either(at, mask, merged, value)?;
            }
            mask = match (mask, own) {
                (Some(mask), Some(own)) => Some(at.largest(&[mask, own])?),
                _ => None,
            };
            merged = at.op(self.pairwise(), &[merged, value])?;
        }
        Ok(merged)
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

/// The product, in which padding counts as 1, and is 0 where all inputs are padding.
fn product(at: &mut Context<'_>, inputs: &[Signal]) -> Result<ValueId, ShapeError> {
    let rank = at.shape(inputs[0].value).rank();
    let (mut factors, mut masks) = (Vec::new(), Vec::new());
    for input in inputs {
        factors.push(match input.mask {
            None => input.value,
            Some(mask) => {
                let mask = at.mask_for(mask, rank)?;
                masks.push(mask);
                let kept = at.op(Binary::Multiply, &[input.value, mask])?;
                let ones = at.opposite(mask)?;
                at.op(Binary::Add, &[kept, ones])?
            }
        });
    }
    let product = fold(at, Binary::Multiply, &factors)?;
    if masks.len() < inputs.len() {
        return Ok(product);
    }
    let any = at.largest(&masks)?;
    at.op(Binary::Multiply, &[product, any])
}

/// The first value where the mask is 1, else the second.
fn either(at: &mut Context<'_>, mask: ValueId, one: ValueId, other: ValueId) -> Result<ValueId, ShapeError> {
    let kept = at.op(Binary::Multiply, &[one, mask])?;
    let rest = at.opposite(mask)?;
    let rest = at.op(Binary::Multiply, &[other, rest])?;
    at.op(Binary::Add, &[kept, rest])
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

fn fold(at: &mut Context<'_>, binary: Binary, values: &[ValueId]) -> Result<ValueId, ShapeError> {
    let (&first, rest) = values.split_first().expect("the inputs have been counted");
    rest.iter().try_fold(first, |merged, &value| at.op(binary, &[merged, value]))
}
