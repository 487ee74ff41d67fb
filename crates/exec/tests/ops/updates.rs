//! The optimizers' update rules.

use crate::check::{Case, random, random_in};
use plimsoll_exec::reference::{self, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{AllFinite, Average, Constraint, MovingAverage, Rule, Update};
use plimsoll_train::Optimizer;

/// The inputs of an update of a parameter of this shape.
fn inputs(update: &Update, shape: &[usize], step: f64) -> Vec<Tensor> {
    let scalars = [Tensor::f32([], [0.125]), Tensor::i32([], [step])];
    let slots = update.slots(&Shape::new(shape)).unwrap();
    let slots = slots.iter().zip(3..).map(|(slot, seed)| random_in(slot.extents(), seed, 0.1, 1.0));
    let magnitude = update.by_rows.then(|| random_in(shape, 9, 0.5, 2.0));
    let gradient = random(shape, 2);
    [random(shape, 1), gradient].into_iter().chain(scalars).chain(slots).chain(magnitude).collect()
}

/// Every rule that an optimizer has for a parameter of this shape, and those that are around them.
fn rules(shape: &[usize]) -> Vec<Rule> {
    let shape = Shape::new(shape);
    let own = Optimizer::DEFAULTS.into_iter().map(|optimizer| optimizer.follow(&shape, false).rule);
    let more = [
        Rule::RmsProp { rho: 0.8, epsilon: 1.5, momentum: 0.5, centered: true },
        Rule::RmsProp { rho: 0.8, epsilon: 1.5, momentum: 0.0, centered: true },
        Rule::RmsProp { rho: 0.8, epsilon: 1e-7, momentum: 0.5, centered: false },
        Rule::Adam { beta1: 0.8, beta2: 0.9, epsilon: 1e-3, amsgrad: true },
        Rule::Ftrl { power: -0.4, l1: 0.3, l2: 0.2, shrinkage: 0.1, beta: 0.5 },
        Rule::ScheduleFree { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, warmup: 4 },
        Rule::Motion { momentum: 0.9 },
        Rule::Gather,
    ];
    own.chain(more).collect()
}

#[test]
fn update() {
    for (shape, step) in
        // What is remembered is finite, so these are larger than what is tried with infinities.
        [
            (&[5000][..], 1.0),
            (&[4001], 2.0),
            (&[50, 90], 3.0),
            (&[3, 40, 35], 40.0),
            (&[40_000], 1000.0),
        ]
    {
        for rule in rules(shape) {
            let plain = Update::from(rule);
            // Powers close to 1 are rounded to float32, as Keras does, before they are taken off 1.
            let case =
                |update: &Update, inputs: Vec<Tensor>| Case::new(update.clone(), inputs).tolerance(1e-4);
            case(&plain, inputs(&plain, shape, step)).check_kernel();
            if shape == [40_000] {
                continue;
            }
            for gate in [0.0, 1.0] {
                let gated = [inputs(&plain, shape, step), vec![Tensor::f32([], [gate])]].concat();
                case(&plain, gated).check_kernel();
            }
            let average = Some(Average { momentum: 0.75, overwrite: 2 });
            let around = Update { weight_decay: 0.5, clip_value: 0.25, every: 2, average, ..plain.clone() };
            for step in [step, step + 1.0] {
                case(&around, inputs(&around, shape, step)).check_kernel();
            }
            if rule.magnitude().is_some() {
                let by_rows = Update { by_rows: true, ..plain };
                case(&by_rows, inputs(&by_rows, shape, step)).check_kernel();
            }
        }
    }
}

#[test]
fn projections() {
    let shape = [3, 4, 5];
    let axes = [vec![0], vec![1], vec![2], vec![0, 2], vec![0, 1, 2]];
    let all = axes.into_iter().flat_map(|axes| {
        let unit = Constraint::UnitNorm { axes: axes.clone() };
        let between = Constraint::MinMaxNorm { least: 0.9, most: 1.1, rate: 0.25, axes: axes.clone() };
        [Constraint::MaxNorm { limit: 1.25, axes }, unit, between]
    });
    for constraint in all.chain([Constraint::NonNegative]) {
        let update = Update { constraint: Some(constraint), ..Rule::Sgd.into() };
        Case::new(update.clone(), inputs(&update, &shape, 1.0)).check_kernel();
    }
}

#[test]
fn the_scale_of_a_loss() {
    for (finite, count, wanted) in [(1.0, 0.0, [8.0, 1.0]), (1.0, 2.0, [16.0, 0.0]), (0.0, 2.0, [4.0, 0.0])] {
        let scalar = |x: f64| Tensor::f32([], [x]);
        let inputs = [scalar(8.0), scalar(finite), scalar(0.1), Tensor::i32([], [5.0]), scalar(count)];
        let references: Vec<&Tensor> = inputs.iter().collect();
        let found = reference::run(&Rule::Scale { growth: 3 }.into(), &references);
        assert_eq!([found[0].data[0], found[1].data[0]], wanted);
        Case::new(Update::from(Rule::Scale { growth: 3 }), inputs).tolerance(0.0).check_kernel();
    }
}

#[test]
fn a_closed_gate_leaves_everything_as_it_was_though_the_gradient_is_no_number() {
    for rule in rules(&[7, 10]) {
        let update = Update::from(rule);
        let mut inputs = inputs(&update, &[7, 10], 3.0);
        inputs[1] = Tensor::f32([7, 10], vec![f64::NAN; 70]);
        inputs.push(Tensor::f32([], [0.0]));
        // The reference gives back what it was given, and the kernel must agree with it.
        Case::new(update, inputs).tolerance(1e-6).check_kernel();
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
