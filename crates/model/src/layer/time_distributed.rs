//! The same layer at every position of a sequence.

use super::{Context, Layer, Lowered, Signal};
use plimsoll_graph::op::Reduction;
use plimsoll_graph::{Shape, ShapeError, ValueId};
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
        if let Layer::BatchNormalization(norm) = &*self.layer
            && at.is_learning()
        {
            return norm.step_by_step(at, x);
        }
        if self.layer.is_stateful() {
            return Err(
                at.refusal(&[x.value], "a stateful layer at every position is not supported".to_string())
            );
        }
        let both = at.product(&[batch, length])?;
        let positions = at.reshaped(x.value, Shape::new([&[both], rest].concat()))?;
        let mask = self.inner_mask(at, x, [batch, length])?;
        let result = self.layer.lower(at, &[Signal { value: positions, mask }])?.value;
        let unfolded =
            unfolded(at.shape(result), batch, length).map_err(|problem| at.refusal(&[result], problem))?;
        Ok(x.with(at.reshaped(result, unfolded)?))
    }
}

impl TimeDistributed {
    /// What the layer inside sees of the mask, if it looks at masks at all: that of the position.
    fn inner_mask(
        &self,
        at: &mut Context<'_>,
        x: Signal,
        outer: [usize; 2],
    ) -> Result<Option<ValueId>, ShapeError> {
        let Some(mask) = x.mask.filter(|_| takes_mask(&self.layer, at.shape(x.value).rank() - 1)) else {
            return Ok(None);
        };
        match at.shape(mask).extents().to_vec()[..] {
            [batch, length, ref rest @ ..] if [batch, length] == outer && !rest.is_empty() => {
                at.reshaped(mask, Shape::new([&[batch * length], rest].concat())).map(Some)
            }
            _ => {
                let problem = format!("a mask of shape {} for the layer inside", at.shape(mask));
                Err(at.refusal(&[x.value], format!("{problem} is not supported (nor by Keras)")))
            }
        }
    }
}

/// Whether Keras's layer takes a mask when it is called with a value of a rank.
fn takes_mask(layer: &Layer, rank: usize) -> bool {
    match layer {
        Layer::Lstm(_) | Layer::Gru(_) | Layer::SimpleRnn(_) | Layer::Bidirectional(_) => true,
        Layer::StackedRnn(_) | Layer::ConvLstm(_) => true,
        // Its moving averages need none.
        Layer::BatchNormalization(_) => false,
        Layer::GlobalPooling(pooling) => pooling.reduction == Reduction::Mean && rank == 3,
        Layer::Softmax(_) | Layer::TimeDistributed(_) => true,
        _ => false,
    }
}

fn unfolded(shape: &Shape, batch: usize, length: usize) -> Result<Shape, String> {
    match shape.extents() {
        [both, rest @ ..] if *both == batch * length => Ok(Shape::new([&[batch, length], rest].concat())),
        _ => Err("the layer does not keep positions apart".to_string()),
    }
}
