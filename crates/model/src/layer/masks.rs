//! What becomes of masks: which layers make, pass, merge and stop them. The rules are those of Keras's `compute_mask`;
//! a layer that does not say `supports_masking` there stops them.

use super::{Context, Layer, Lowered, Recurrent, Signal};
use plimsoll_graph::op::{Binary, Concat, Fill, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

/// A layer's result with the mask that goes on with it, where its inputs have the masks that it is called with. What
/// its first input brings along by itself is `own`. The list names every layer, so that a new one must say what it
/// does.
pub(crate) fn with_mask(
    layer: &Layer,
    at: &mut Context<'_>,
    inputs: &[Signal],
    own: Option<ValueId>,
    made: Signal,
) -> Lowered {
    let first = inputs.first().and_then(|input| input.mask);
    let mask = match layer {
        Layer::Embedding(_) | Layer::Masking(_) | Layer::ReversibleEmbedding(_) => made.mask,
        Layer::Beside(_) | Layer::Unfold(_) => made.mask,
        Layer::Activation(_) | Layer::PRelu(_) | Layer::Relu(_) | Layer::Softmax(_) => first,
        Layer::BatchNormalization(_) | Layer::GroupNormalization(_) | Layer::LayerNormalization(_) => first,
        Layer::UnitNormalization(_) | Layer::Normalization(_) | Layer::Rescaling(_) => first,
        Layer::Dropout(_) | Layer::GaussianDropout(_) | Layer::GaussianNoise(_) => first,
        Layer::AlphaDropout(_) => first,
        Layer::Dense(_) | Layer::TimeDistributed(_) | Layer::Attention(_) => first,
        // Whatever grouped attention is told about its query, its result has the mask that the query brings along.
        Layer::MultiHeadAttention(attention) if attention.key_value_heads.is_some() => own,
        Layer::MultiHeadAttention(_) => first,
        // A mask that was overlooked goes on all the same.
        Layer::Lstm(layer) => first.or(own).filter(|_| layer.return_sequences),
        Layer::Gru(layer) => first.or(own).filter(|_| layer.return_sequences),
        Layer::SimpleRnn(layer) => first.or(own).filter(|_| layer.return_sequences),
        Layer::StackedRnn(layer) => first.or(own).filter(|_| layer.return_sequences),
        Layer::ConvLstm(layer) => first.or(own).filter(|_| layer.return_sequences),
        Layer::Bidirectional(both) => first.or(own).filter(|_| match &both.layer {
            Recurrent::Lstm(layer) => layer.return_sequences,
            Recurrent::Gru(layer) => layer.return_sequences,
            Recurrent::SimpleRnn(layer) => layer.return_sequences,
        }),
        Layer::Merge(_) => any_of(at, inputs)?,
        Layer::Concatenate(concatenate) => joined(at, inputs, concatenate.axis)?,
        Layer::Operation(_) if layer.gives_back() && inputs.iter().any(|input| input.value == made.value) => {
            first
        }
        Layer::Operation(_) | Layer::MaskOperation(_) | Layer::Fold(_) => None,
        Layer::Augmentation(_) | Layer::AutoContrast(_) | Layer::StochasticDepth(_) => None,
        Layer::CategoryEncoding(_) | Layer::Discretization(_) | Layer::Hashing(_) => None,
        Layer::IntegerLookup(_) | Layer::EinsumDense(_) | Layer::Dot(_) => None,
        Layer::CenterCrop(_) | Layer::Resizing(_) | Layer::ChannelsFirst(_) => None,
        Layer::Conv1d(_) | Layer::Conv2d(_) | Layer::Conv3d(_) => None,
        Layer::Conv1dTranspose(_) | Layer::Conv2dTranspose(_) | Layer::Conv3dTranspose(_) => None,
        Layer::DepthwiseConv1d(_) | Layer::DepthwiseConv2d(_) => None,
        Layer::SeparableConv1d(_) | Layer::SeparableConv2d(_) => None,
        Layer::AdaptivePooling(_) | Layer::GlobalPooling(_) => None,
        Layer::Pooling1d(_) | Layer::Pooling2d(_) | Layer::Pooling3d(_) => None,
        Layer::Cropping1d(_) | Layer::Cropping2d(_) | Layer::Cropping3d(_) => None,
        Layer::UpSampling1d(_) | Layer::UpSampling2d(_) | Layer::UpSampling3d(_) => None,
        Layer::ZeroPadding1d(_) | Layer::ZeroPadding2d(_) | Layer::ZeroPadding3d(_) => None,
        Layer::Flatten(_) | Layer::Permute(_) | Layer::RepeatVector(_) | Layer::Reshape(_) => None,
        Layer::CustomScaleLayer(_) | Layer::LayerScale(_) | Layer::RmsNormalization(_) => None,
    };
    Ok(Signal { mask, ..made })
}

/// A position counts if it counts in any of the inputs; there is no mask if any input has none.
fn any_of(at: &mut Context<'_>, inputs: &[Signal]) -> Result<Option<ValueId>, ShapeError> {
    let Some(masks) = inputs.iter().map(|input| input.mask).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    at.largest(&masks).map(Some)
}

/// Inputs without a mask count everywhere, if any has one.
fn joined(at: &mut Context<'_>, inputs: &[Signal], axis: isize) -> Result<Option<ValueId>, ShapeError> {
    if inputs.iter().all(|input| input.mask.is_none()) {
        return Ok(None);
    }
    let axis = at.axis(axis, inputs[0].value)?;
    let mut masks = Vec::with_capacity(inputs.len());
    for input in inputs {
        let (_, outer) = at.shape(input.value).extents().split_last().expect("it has this axis");
        let outer = Shape::new(outer);
        masks.push(match input.mask {
            Some(mask) if *at.shape(mask) == outer => mask,
            Some(mask) => {
                let problem = format!("the mask has shape {}, not {outer}", at.shape(mask));
                return Err(at.refusal(&[input.value], problem));
            }
            None => at.op(Fill { shape: outer, value: 1.0 }, &[])?,
        });
    }
    if axis == at.shape(masks[0]).rank() {
        return at.largest(&masks).map(Some);
    }
    at.op(Concat { axis }, &masks).map(Some)
}

impl Context<'_> {
    /// The largest of several values, element by element.
    pub(super) fn largest(&mut self, values: &[ValueId]) -> Result<ValueId, ShapeError> {
        let (&first, rest) = values.split_first().expect("there is one");
        let others: Vec<ValueId> = rest.iter().copied().filter(|&value| value != first).collect();
        others.into_iter().try_fold(first, |largest, value| self.op(Binary::Maximum, &[largest, value]))
    }

    /// The smallest of several values, element by element.
    pub(super) fn smallest(&mut self, values: &[ValueId]) -> Result<ValueId, ShapeError> {
        let (&first, rest) = values.split_first().expect("there is one");
        let others: Vec<ValueId> = rest.iter().copied().filter(|&value| value != first).collect();
        others.into_iter().try_fold(first, |smallest, value| self.op(Binary::Minimum, &[smallest, value]))
    }

    /// A mask as a factor for values of a rank: with axes of extent 1 at its end.
    pub(super) fn mask_for(&mut self, mask: ValueId, rank: usize) -> Result<ValueId, ShapeError> {
        let mut extents = self.shape(mask).extents().to_vec();
        extents.resize(rank.max(extents.len()), 1);
        self.reshaped(mask, Shape::new(extents))
    }

    /// Scores with -1e9 in the place of those that do not count.
    pub(super) fn masked_scores(&mut self, scores: ValueId, mask: ValueId) -> Result<ValueId, ShapeError> {
        let kept = self.op(Binary::Multiply, &[scores, mask])?;
        let without = self.op(Unary::AddScalar(-1.0), &[mask])?;
        let penalty = self.op(Unary::MultiplyScalar(1e9), &[without])?;
        self.op(Binary::Add, &[kept, penalty])
    }

    /// `1 - mask`
    pub(super) fn opposite(&mut self, mask: ValueId) -> Result<ValueId, ShapeError> {
        let turned = self.op(Unary::Negate, &[mask])?;
        self.op(Unary::AddScalar(1.0), &[turned])
    }
}
