//! The optimizers' update rules.

use crate::check::{Case, random, random_in};
use plimsoll_exec::reference::{self, Tensor};
use plimsoll_graph::op::{AllFinite, MovingAverage};
use plimsoll_train::Optimizer;

#[test]
fn update() {
    for optimizer in Optimizer::DEFAULTS {
        for (elements, step) in [(1, 1.0), (7, 2.0), (40_000, 1000.0)] {
            let shape = [elements];
            let scalars = [Tensor::f32([], [0.125]), Tensor::i32([], [step])];
            let slots = (0..optimizer.slots().len()).map(|i| random_in(&shape, 3 + i as u64, 0.1, 1.0));
            let inputs = [random(&shape, 1), random(&shape, 2)].into_iter().chain(scalars).chain(slots);
            let inputs: Vec<Tensor> = inputs.collect();
            Case::new(optimizer.update(), inputs.clone()).check_kernel();
            for gate in [0.0, 1.0] {
                let gated = [inputs.clone(), vec![Tensor::f32([], [gate])]].concat();
                Case::new(optimizer.update(), gated).check_kernel();
            }
        }
    }
}

#[test]
fn a_closed_gate_leaves_everything_as_it_was_though_the_gradient_is_no_number() {
    for optimizer in Optimizer::DEFAULTS {
        let shape = [70];
        let gradient = Tensor::f32(shape, vec![f64::NAN; 70]);
        let scalars = [Tensor::f32([], [0.125]), Tensor::i32([], [3.0])];
        let slots = (0..optimizer.slots().len()).map(|i| random_in(&shape, 3 + i as u64, 0.1, 1.0));
        let inputs = [random(&shape, 1), gradient].into_iter().chain(scalars).chain(slots);
        let inputs: Vec<Tensor> = inputs.chain([Tensor::f32([], [0.0])]).collect();
        // The reference gives back what it was given, and the kernel must agree with it.
        let case = Case::new(optimizer.update(), inputs).tolerance(0.0);
        case.check_kernel();
    }
    let inputs = [random(&[9], 1), Tensor::f32([9], vec![f64::INFINITY; 9]), Tensor::f32([], [0.0])];
    Case::new(MovingAverage { momentum: 0.5 }, inputs).tolerance(0.0).check_kernel();
    let inputs = [random(&[9], 1), random(&[9], 2), Tensor::f32([], [1.0])];
    Case::new(MovingAverage { momentum: 0.5 }, inputs).check_kernel();
}

#[test]
fn all_finite() {
    let (few, many) = (random(&[3], 1), random(&[5, 20_000], 2));
    let with = |element: usize, x: f64| {
        let mut spoilt = many.clone();
        spoilt.data[element] = x;
        spoilt
    };
    let cases = [
        (vec![few.clone()], 1.0),
        (vec![few.clone(), many.clone(), few.clone()], 1.0),
        (vec![few.clone(), with(0, f64::NAN)], 0.0),
        (vec![with(99_999, f64::NEG_INFINITY), few.clone()], 0.0),
        (vec![with(50_001, f64::INFINITY), few.clone(), many.clone()], 0.0),
        (vec![with(50_001, f64::from(f32::MAX))], 1.0),
    ];
    for (inputs, wanted) in cases {
        let references: Vec<&Tensor> = inputs.iter().collect();
        assert_eq!(reference::run(&AllFinite {}.into(), &references)[0].data, [wanted]);
        Case::new(AllFinite {}, inputs).tolerance(0.0).check_kernel();
    }
}
