//! Casts, from their definition. A cast to float32 changes nothing here, where every element is a float64.

use super::{Meaning, Tensor};
use plimsoll_graph::ElementType;
use plimsoll_graph::op::Cast;

impl Meaning for Cast {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let cast = |&x: &f64| match self.to {
            ElementType::F32 => x,
            ElementType::F16 => half::f16::from_f32(rounded_to_odd(x)).to_f64(),
            ElementType::Bf16 => half::bf16::from_f32(rounded_to_odd(x)).to_f64(),
            ElementType::I32 => f64::from(x as i32),
        };
        vec![inputs[0].data.iter().map(cast).collect()]
    }
}

/// The float32 next to `x` that is odd in its last bit, unless one is equal to it. Rounding that once more gives what
/// rounding `x` itself would. (`half::bf16::from_f64` does not: it forgets the lower half of the digits.)
fn rounded_to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || !near.is_finite() {
        return near;
    }
    let towards_0 = near.to_bits() - u32::from(f64::from(near).abs() > x.abs());
    f32::from_bits(towards_0 | 1)
}
