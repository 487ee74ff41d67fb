//! Pooling of a whole sequence or image.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{self, Binary, Reduce, Reduction};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// One number a channel for all positions between batch and channels: pixels of an image or steps of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalPooling {
    /// What the positions become.
    pub reduction: Reduction,
    /// Whether the axes of the positions stay with extent 1.
    pub keepdims: bool,
}

impl GlobalPooling {
    /// The mean of all positions.
    pub fn average() -> Self {
        Self { reduction: Reduction::Mean, keepdims: false }
    }

    /// The largest of all positions.
    pub fn max() -> Self {
        Self { reduction: Reduction::Max, keepdims: false }
    }

    /// The same with axes of extent 1 in the place of the positions.
    pub fn keepdims(self) -> Self {
        Self { keepdims: true, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self.reduction {
            Reduction::Max => "global_max_pooling",
            Reduction::Mean => "global_average_pooling",
            Reduction::Sum => "global_sum_pooling",
            Reduction::Product => "global_product_pooling",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let rank = at.shape(x.value).rank();
        if rank < 3 {
            return Err(
                at.refusal(&[x.value], "there are no positions between batch and channels".to_string())
            );
        }
        let reduced = match (x.mask, self.reduction) {
            (Some(mask), Reduction::Mean) if rank == 3 => self.masked_mean(at, x.value, mask)?,
            // As in Keras, only the mean leaves padding out.
            _ => at.op(self.over((1..rank - 1).collect(), self.reduction), &[x.value])?,
        };
        Ok(Signal::bare(reduced))
    }

    /// The mean of the positions that count.
    fn masked_mean(&self, at: &mut Context<'_>, x: ValueId, mask: ValueId) -> Result<ValueId, ShapeError> {
        let [batch, length] = at.extents(mask)?;
        let mask = at.op(op::Reshape { shape: [batch, length, 1].into() }, &[mask])?;
        let kept = at.op(Binary::Multiply, &[x, mask])?;
        let sum = at.op(self.over(vec![1], Reduction::Sum), &[kept])?;
        let count = at.op(self.over(vec![1], Reduction::Sum), &[mask])?;
        at.op(Binary::Divide, &[sum, count])
    }

    fn over(&self, axes: Vec<usize>, reduction: Reduction) -> Reduce {
        Reduce { reduction, axes, keep_axes: self.keepdims }
    }
}
