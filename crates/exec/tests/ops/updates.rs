//! The optimizers' update rules.

use crate::check::{Case, random, random_in};
use plimsoll_exec::reference::Tensor;
use plimsoll_train::Optimizer;

#[test]
fn update() {
    for optimizer in Optimizer::DEFAULTS {
        for (elements, step) in [(1, 1.0), (7, 2.0), (40_000, 1000.0)] {
            let shape = [elements];
            let scalars = [Tensor::f32([], [0.125]), Tensor::i32([], [step])];
            let slots = (0..optimizer.slots().len()).map(|i| random_in(&shape, 3 + i as u64, 0.1, 1.0));
            let inputs = [random(&shape, 1), random(&shape, 2)].into_iter().chain(scalars).chain(slots);
            Case::new(optimizer.update(), inputs.collect::<Vec<_>>()).check_kernel();
        }
    }
}
