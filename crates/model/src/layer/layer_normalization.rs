//! Layer normalization.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Fill, LayerNorm, Reduce, Reduction, Unary};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Rows of mean 0 and variance 1, then scaled and moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerNormalization {
    /// The axes a row is made of; counted from the end if negative, but all or none.
    pub axis: Vec<isize>,
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether `beta` is added.
    pub center: bool,
    /// Whether `gamma` multiplies.
    pub scale: bool,
    /// Whether rows are divided by their deviation but keep their mean, as Keras 3 does; there is no `beta` then.
    pub rms_scaling: bool,
}

impl Default for LayerNormalization {
    fn default() -> Self {
        Self { axis: vec![-1], epsilon: 1e-3, center: true, scale: true, rms_scaling: false }
    }
}

impl LayerNormalization {
    /// The same with another epsilon.
    pub fn epsilon(self, epsilon: f32) -> Self {
        Self { epsilon, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "layer_normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let axes = at.axes(&self.axis, x.value)?;
        // Keras sorts the axes before it resolves those that count from the end.
        let mixed = self.axis.iter().any(|&axis| axis < 0) && self.axis.iter().any(|&axis| axis >= 0);
        if axes.is_empty() || axes.contains(&0) || mixed {
            return Err(at.refusal(&[x.value], format!("it does not normalize over axes {:?}", self.axis)));
        }
        let shape = at.shape(x.value).clone();
        let others = (0..shape.rank()).filter(|axis| !axes.contains(axis));
        let order: Vec<usize> = others.chain(axes.iter().copied()).collect();
        let own = Shape::new(axes.iter().map(|&axis| shape[axis]).collect::<Vec<_>>());
        let turned = at.transposed(x.value, order.clone())?;
        let turned_shape = at.shape(turned).clone();
        let rows = at.reshaped(turned, [shape.elements() / own.elements(), own.elements()])?;
        let rows = if axes.len() == 1 { turned } else { rows };
        let rows = self.normalize_rows(at, rows, &own)?;
        let turned = at.reshaped(rows, turned_shape)?;
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(position, &axis)| back[axis] = position);
        Ok(x.with(at.transposed(turned, back)?))
    }

    fn normalize_rows(
        &self,
        at: &mut Context<'_>,
        rows: ValueId,
        own: &Shape,
    ) -> Result<ValueId, ShapeError> {
        if self.rms_scaling {
            return self.scale_rows(at, rows, own);
        }
        let gamma = learned_or_constant(at, self.scale.then_some("gamma"), own, 1.0)?;
        let beta = learned_or_constant(at, self.center.then_some("beta"), own, 0.0)?;
        at.op(LayerNorm { epsilon: self.epsilon }, &[rows, gamma, beta])
    }

    fn scale_rows(&self, at: &mut Context<'_>, rows: ValueId, own: &Shape) -> Result<ValueId, ShapeError> {
        let over = Reduce { reduction: Reduction::Mean, axes: vec![at.axis(-1, rows)?], keep_axes: true };
        let mean = at.op(over.clone(), &[rows])?;
        let centred = at.op(Binary::Subtract, &[rows, mean])?;
        let squares = at.op(Unary::Square, &[centred])?;
        let variance = at.op(over, &[squares])?;
        let shifted = at.op(Unary::AddScalar(self.epsilon), &[variance])?;
        let inverse = at.op(Unary::Rsqrt, &[shifted])?;
        let scaled = at.op(Binary::Multiply, &[rows, inverse])?;
        let gamma = learned_or_constant(at, Some("gamma"), own, 1.0)?;
        at.op(Binary::Multiply, &[scaled, gamma])
    }
}

/// A parameter of that shape, or a constant where nothing is learned, as a vector.
fn learned_or_constant(
    at: &mut Context<'_>,
    name: Option<&str>,
    shape: &Shape,
    value: f32,
) -> Result<ValueId, ShapeError> {
    let count = shape.elements();
    match name {
        Some(name) => {
            let parameter = at.parameter(name, shape.clone(), Init::Constant(value))?;
            at.reshaped(parameter, [count])
        }
        None => at.op(Fill { shape: [count].into(), value }, &[]),
    }
}
