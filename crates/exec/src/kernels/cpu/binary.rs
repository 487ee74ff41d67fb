//! The CPU kernel of elementwise functions of two numbers.

use super::elementwise::{Side, by_pieces, combine, larger};
use super::runs::{Runs, segments};
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::Binary;

impl CpuKernel for Binary {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0), (1, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        match self {
            Binary::Add => apply(call, |a, b| a + b),
            Binary::Subtract => apply(call, |a, b| a - b),
            Binary::Multiply => apply(call, |a, b| a * b),
            Binary::Divide => apply(call, |a, b| a / b),
            Binary::Maximum => apply(call, larger),
            Binary::Minimum => apply(call, |a, b| -larger(-a, -b)),
            Binary::GreaterEqual => apply(call, |a, b| f32::from(a >= b)),
            Binary::Less => apply(call, |a, b| f32::from(a < b)),
            Binary::Equal => apply(call, |a, b| f32::from(a == b)),
            Binary::NotEqual => apply(call, |a, b| f32::from(a != b)),
            Binary::Power => apply(call, f32::powf),
            Binary::Modulo => apply(call, modulo),
            Binary::Atan2 => apply(call, f32::atan2),
        }
        Ok(())
    }
}

/// The rest with the sign of the divisor.
fn modulo(a: f32, b: f32) -> f32 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

/// Equal shapes make one long row, as does a scalar on either side; everything else makes many.
fn apply(call: Call<'_>, f: impl Fn(f32, f32) -> f32 + Sync) {
    let ([a, b], [y]) = (call.inputs, call.outputs) else {
        unreachable!("the shape rule has checked the inputs")
    };
    let runs = Runs::new(a.shape(), b.shape());
    let sides = [Side::of(a), Side::of(b)];
    by_pieces(y, |start, y| {
        for segment in segments(start, y.len(), runs.length) {
            let [a, b] = [0, 1].map(|operand| match (sides[operand], runs.stays[operand]) {
                (Side::Run(elements), true) => Side::Same(elements[runs.start(operand, segment.row)]),
                (side @ Side::Run(_), false) => {
                    side.cut(runs.start(operand, segment.row) + segment.column, segment.length)
                }
                (side, _) => side,
            });
            combine(&mut y[segment.at..segment.at + segment.length], a, b, &f);
        }
    });
}
