//! Products of two results, sample by sample.

use super::unit_normalization::unit_length;
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::MatMul;
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// The sum of products along an axis of each of two results, for each sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dot {
    /// The axis of the first and of the second; counted from the end if negative.
    pub axes: [isize; 2],
    /// Whether both are first made 1 long along their axis, so that the result is the cosine between them.
    pub normalize: bool,
}

impl Dot {
    pub(super) fn kind(&self) -> &'static str {
        "dot"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [a, b] = at.operands(inputs)?;
        let (a, a_rest) = self.flattened(at, a.value, self.axes[0])?;
        let (b, b_rest) = self.flattened(at, b.value, self.axes[1])?;
        // Both are `[batch, others, axis]`.
        let product = at.op(MatMul { transpose_a: false, transpose_b: true }, &[a, b])?;
        let mut extents = [&[at.shape(product)[0]], &a_rest[..], &b_rest].concat();
        if extents.len() == 1 {
            extents.push(1);
        }
        Ok(Signal::bare(at.reshaped(product, Shape::new(extents))?))
    }

    /// The operand as `[batch, others, axis]`, and what the others were.
    fn flattened(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        axis: isize,
    ) -> Result<(ValueId, Vec<usize>), ShapeError> {
        let axis = at.axis(axis, x)?;
        if axis == 0 {
            return Err(at.refusal(&[x], "it does not sum over the batch".to_string()));
        }
        let x = if self.normalize { unit_length(at, x, vec![axis])? } else { x };
        let extents = at.shape(x).extents().to_vec();
        let others: Vec<usize> = (1..extents.len()).filter(|&other| other != axis).collect();
        let turned = at.transposed(x, [&[0], &others[..], &[axis]].concat())?;
        let rest: Vec<usize> = others.iter().map(|&other| extents[other]).collect();
        let count = rest.iter().product();
        Ok((at.reshaped(turned, [extents[0], count, extents[axis]])?, rest))
    }
}
