//! Group normalization (Wu and He 2018).

use super::batch_normalization::{center_or_zeros, scale_or_ones};
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{BiasAdd, Binary, Fill, LayerNorm};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Groups of channels of mean 0 and variance 1 in each sample, then scaled and moved channel by channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNormalization {
    /// The number of groups; -1 for one a channel.
    pub groups: isize,
    /// The axis of the channels; counted from the end if negative.
    pub axis: isize,
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether `beta` is added.
    pub center: bool,
    /// Whether `gamma` multiplies.
    pub scale: bool,
}

impl Default for GroupNormalization {
    fn default() -> Self {
        Self { groups: 32, axis: -1, epsilon: 1e-3, center: true, scale: true }
    }
}

impl GroupNormalization {
    pub(super) fn kind(&self) -> &'static str {
        "group_normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let axis = at.axis(self.axis, x.value)?;
        if axis == 0 {
            return Err(at.refusal(&[x.value], "there is no axis of features".to_string()));
        }
        let turned = at.exchanged(x.value, axis)?;
        let channels = at.features(turned)?;
        let groups = if self.groups == -1 { channels } else { self.groups.max(0).unsigned_abs() };
        if groups == 0 || !channels.is_multiple_of(groups) {
            let problem = format!("{channels} channels cannot be cut into {} groups", self.groups);
            return Err(at.refusal(&[x.value], problem));
        }
        let mut y = self.normalize(at, turned, groups)?;
        if self.scale {
            let gamma = scale_or_ones(at, true, channels)?;
            y = at.op(Binary::Multiply, &[y, gamma])?;
        }
        if self.center {
            let beta = center_or_zeros(at, true, channels)?;
            y = at.op(BiasAdd {}, &[y, beta])?;
        }
        Ok(x.with(at.exchanged(y, axis)?))
    }

    /// Each group of each sample as a row of its own.
    fn normalize(&self, at: &mut Context<'_>, x: ValueId, groups: usize) -> Result<ValueId, ShapeError> {
        let shape = at.shape(x).clone();
        let (batch, channels) = (shape[0], shape.last());
        let positions = shape.elements() / batch / channels;
        let per_group = channels / groups;
        let cut = at.reshaped(x, [batch, positions, groups, per_group])?;
        let turned = at.transposed(cut, vec![0, 2, 1, 3])?;
        let row = positions * per_group;
        let rows = at.reshaped(turned, [batch * groups, row])?;
        let ones = at.op(Fill { shape: [row].into(), value: 1.0 }, &[])?;
        let zeros = at.op(Fill { shape: [row].into(), value: 0.0 }, &[])?;
        let rows = at.op(LayerNorm { epsilon: self.epsilon }, &[rows, ones, zeros])?;
        let turned = at.reshaped(rows, Shape::new([batch, groups, positions, per_group]))?;
        let cut = at.transposed(turned, vec![0, 2, 1, 3])?;
        at.reshaped(cut, shape)
    }
}
