//! The same layer at every position of a sequence.

use super::{Context, Layer, Lowered, Signal};
use plimsoll_graph::Shape;
use serde::{Deserialize, Serialize};

/// A layer applied to every position by itself: time becomes part of the batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeDistributed {
    /// The layer that sees one position; its parameters are this layer's.
    pub layer: Box<Layer>,
}

impl TimeDistributed {
    /// This layer at every position.
    pub fn new(layer: impl Into<Layer>) -> Self {
        Self { layer: Box::new(layer.into()) }
    }

    pub(super) fn kind(&self) -> &'static str {
        "time_distributed"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let extents = at.shape(x.value).extents().to_vec();
        let [batch, length, ref rest @ ..] = extents[..] else {
            return Err(at.refusal(&[x.value], "there is no axis of time".to_string()));
        };
        let folded = Shape::new([&[at.product(&[batch, length])?], rest].concat());
        let positions = at.reshaped(x.value, folded)?;
        let result = self.layer.lower(at, &[Signal::bare(positions)])?.value;
        let unfolded =
            unfolded(at.shape(result), batch, length).map_err(|problem| at.refusal(&[result], problem))?;
        Ok(x.with(at.reshaped(result, unfolded)?))
    }
}

fn unfolded(shape: &Shape, batch: usize, length: usize) -> Result<Shape, String> {
    match shape.extents() {
        [both, rest @ ..] if *both == batch * length => Ok(Shape::new([&[batch, length], rest].concat())),
        _ => Err("the layer does not keep positions apart".to_string()),
    }
}
