//! The CPU kernel of choosing between two tensors.

use super::elementwise::{Side, by_pieces};
use super::{Call, CpuKernel, KernelError};
use crate::kernels::Input;
use plimsoll_graph::op::Select;

impl CpuKernel for Select {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0), (1, 0), (2, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([condition, a, b], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let elements = y.shape().elements();
        let [condition, a, b] = [condition, a, b].map(|input| side(input, elements));
        by_pieces(y, |start, y| {
            let [condition, a, b] = [condition, a, b].map(|side| side.cut(start, y.len()));
            for at in 0..y.len() {
                let chosen = if get(condition, y, at) == 0.0 { b } else { a };
                y[at] = get(chosen, y, at);
            }
        });
        Ok(())
    }
}

/// All elements of an operand; a scalar beside more than one element is the same for all.
fn side(input: &Input, elements: usize) -> Side<'_> {
    match Side::of(input) {
        Side::Run(&[single]) if elements > 1 => Side::Same(single),
        side => side,
    }
}

fn get(side: Side<'_>, y: &[f32], at: usize) -> f32 {
    match side {
        Side::Here => y[at],
        Side::Run(elements) => elements[at],
        Side::Same(number) => number,
    }
}
