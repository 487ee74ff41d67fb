//! Classes as vectors.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Cast, OneHot, Reduce, Reduction};
use plimsoll_graph::{ElementType, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Integers of `0..num_tokens` as vectors of that length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryEncoding {
    /// The number of classes.
    pub num_tokens: usize,
    /// What is made of them.
    pub output_mode: Encoding,
}

/// What is made of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Nothing: they stay integers.
    Int,
    /// A vector for each of them, with a 1 at its place.
    OneHot,
    /// A vector for each sample, with a 1 at the place of every class it has.
    MultiHot,
    /// A vector for each sample that says how often it has each class.
    Count,
}

impl CategoryEncoding {
    pub(super) fn kind(&self) -> &'static str {
        "category_encoding"
    }

    /// The second input, if there is one, weighs what is counted.
    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        if let ([x, weights], Encoding::Count) = (inputs, self.output_mode) {
            let ids = integers(at, x.value)?;
            let hot = at.op(OneHot { depth: self.num_tokens }, &[ids])?;
            let weights = at.float(weights.value)?;
            let extents = [at.shape(weights).extents(), &[1]].concat();
            let weights = at.reshaped(weights, Shape::new(extents))?;
            let weighed = at.op(Binary::Multiply, &[hot, weights])?;
            return Ok(Signal::bare(gathered(at, weighed, Reduction::Sum)?));
        }
        let [x] = at.operands(inputs)?;
        let ids = integers(at, x.value)?;
        self.output_mode.apply(at, ids, self.num_tokens)
    }
}

impl Encoding {
    /// Makes of integers what is asked for.
    pub(super) fn apply(self, at: &mut Context<'_>, ids: ValueId, depth: usize) -> Lowered {
        let result = match self {
            Self::Int => ids,
            Self::OneHot => {
                let extents = at.shape(ids).extents().to_vec();
                let single = extents.len() > 1 && extents.last() == Some(&1);
                let ids =
                    if single { at.reshaped(ids, Shape::new(&extents[..extents.len() - 1]))? } else { ids };
                at.op(OneHot { depth }, &[ids])?
            }
            Self::MultiHot | Self::Count => {
                let hot = at.op(OneHot { depth }, &[ids])?;
                let many = if self == Self::MultiHot { Reduction::Max } else { Reduction::Sum };
                gathered(at, hot, many)?
            }
        };
        Ok(Signal::bare(result))
    }
}

/// Integers; fractions are cut off.
pub(super) fn integers(at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
    match at.element(x) {
        ElementType::I32 => Ok(x),
        _ => at.op(Cast { to: ElementType::I32 }, &[x]),
    }
}

/// One vector for the classes of a sample. Keras's own shapes contradict each other for more axes.
fn gathered(at: &mut Context<'_>, hot: ValueId, reduction: Reduction) -> Result<ValueId, ShapeError> {
    match at.shape(hot).rank() {
        3 => at.op(Reduce { reduction, axes: vec![1], keep_axes: false }, &[hot]),
        rank => {
            Err(at.refusal(&[hot], format!("a sample must be one list of classes, not of rank {}", rank - 2)))
        }
    }
}
