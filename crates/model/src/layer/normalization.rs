//! Features of mean 0 and variance 1, by statistics of the data set.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Fill, Unary};
use plimsoll_graph::{Shape, ShapeError, TensorType, ValueId};
use serde::{Deserialize, Serialize};

/// `(x - mean) / sqrt(variance)`, with statistics that are given or were measured before training.
///
/// Where they were measured, Keras's layer also owns a `count`, which only old files use; here it is an int32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalization {
    /// The axes that have a mean and a variance of their own at each index; none if there is one mean for all.
    pub axis: Vec<isize>,
    /// The mean, if it is given: one number, or one for each index of the axes.
    pub mean: Option<Vec<f32>>,
    /// The variance, given with the mean.
    pub variance: Option<Vec<f32>>,
    /// Whether the opposite is computed: `x sqrt(variance) + mean`.
    pub invert: bool,
}

/// Keras's epsilon, which the deviation is never below.
const SMALLEST_DEVIATION: f32 = 1e-7;

impl Default for Normalization {
    fn default() -> Self {
        Self { axis: vec![-1], mean: None, variance: None, invert: false }
    }
}

impl Normalization {
    pub(super) fn kind(&self) -> &'static str {
        "normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let x = x.with(at.float(x.value)?);
        let kept = at.axes(&self.axis, x.value)?;
        let extents = at.shape(x.value).extents().to_vec();
        let own = Shape::new(kept.iter().map(|&axis| extents[axis]).collect::<Vec<_>>());
        let (mean, variance) = match (&self.mean, &self.variance) {
            (Some(mean), Some(variance)) => (given(at, mean, &own)?, given(at, variance, &own)?),
            (None, None) => {
                let mean = at.statistic("mean", TensorType::f32(own.clone()), 0.0)?;
                let variance = at.statistic("variance", TensorType::f32(own), 1.0)?;
                at.statistic("count", TensorType::i32([]), 0.0)?;
                (mean, variance)
            }
            _ => return Err(at.refusal(&[], "mean and variance must be given together".to_string())),
        };
        let deviation = at.op(Unary::Sqrt, &[variance])?;
        let deviation = at.op(Unary::MaximumScalar(SMALLEST_DEVIATION), &[deviation])?;
        let stretched = (0..extents.len()).map(|axis| if kept.contains(&axis) { extents[axis] } else { 1 });
        let stretched = aligned(&kept, stretched.collect());
        let mean = at.reshaped(mean, stretched.clone())?;
        let deviation = at.reshaped(deviation, stretched)?;
        let result = if self.invert {
            let scaled = at.op(Binary::Multiply, &[x.value, deviation])?;
            at.op(Binary::Add, &[scaled, mean])?
        } else {
            let centred = at.op(Binary::Subtract, &[x.value, mean])?;
            at.op(Binary::Divide, &[centred, deviation])?
        };
        Ok(x.with(result))
    }
}

/// Given numbers as a value of that shape; one number serves all.
fn given(at: &mut Context<'_>, numbers: &[f32], shape: &Shape) -> Result<ValueId, ShapeError> {
    match numbers {
        [number] => at.op(Fill { shape: shape.clone(), value: *number }, &[]),
        _ if numbers.len() == shape.elements() => {
            let value = at.constant(numbers)?;
            at.reshaped(value, shape.clone())
        }
        _ => Err(at.refusal(&[], format!("{} numbers are given for {shape}", numbers.len()))),
    }
}

/// The shape in which statistics meet the input: without leading axes of extent 1, which stretching adds by itself.
fn aligned(kept: &[usize], stretched: Vec<usize>) -> Shape {
    let first = kept.first().copied().unwrap_or(stretched.len());
    Shape::new(&stretched[first..])
}
