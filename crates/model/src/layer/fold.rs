//! Time as a part of the batch, for models at every position of a sequence.

use super::{Context, Lowered, Signal};
use plimsoll_graph::Shape;
use serde::{Deserialize, Serialize};

/// `[batch, length, ...]` as `[batch length, ...]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {}

/// The opposite: the first input has the folded batch, the second is the sequence that was folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfold {}

impl Fold {
    pub(super) fn kind(&self) -> &'static str {
        "fold"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let extents = at.shape(x.value).extents().to_vec();
        let [batch, length, ref rest @ ..] = extents[..] else {
            return Err(at.refusal(&[x.value], "there is no axis of time".to_string()));
        };
        let folded = [&[at.product(&[batch, length])?], rest].concat();
        Ok(Signal::bare(at.reshaped(x.value, Shape::new(folded))?))
    }
}

impl Unfold {
    pub(super) fn kind(&self) -> &'static str {
        "unfold"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x, sequence] = at.operands(inputs)?;
        let (whole, folded) =
            (at.shape(sequence.value).extents().to_vec(), at.shape(x.value).extents().to_vec());
        if whole.len() < 2 || folded.first() != Some(&(whole[0] * whole[1])) {
            return Err(at.refusal(&[x.value], "the model does not keep positions apart".to_string()));
        }
        let unfolded = [&whole[..2], &folded[1..]].concat();
        Ok(sequence.with(at.reshaped(x.value, Shape::new(unfolded))?))
    }
}
