//! Reductions, softmax, losses and accuracy.

use crate::check::{Case, random, random_ids, random_in};
use plimsoll_exec::kernels::KernelError;
use plimsoll_exec::reference::Tensor;
use plimsoll_graph::OpKind;
use plimsoll_graph::op::{Accuracy, CrossEntropy, CrossEntropyGradient, LogSoftmax, LogSoftmaxGradient};
use plimsoll_graph::op::{Cumulate, Reduce, ReduceMaxGradient, Reduction, Softmax, SoftmaxGradient, Targets};

/// Trailing, leading, middle, all and no axes; axes of extent 1; axes with a gap between them.
const REDUCTIONS: &[(&[usize], &[usize])] = &[
    (&[], &[]),
    (&[3, 5], &[]),
    (&[3, 5], &[0, 1]),
    (&[3, 5], &[1]),
    (&[3, 5], &[0]),
    (&[2, 4, 5, 3], &[1, 2]),
    (&[2, 4, 5, 3], &[0, 1, 2]),
    (&[2, 4, 5, 3], &[0, 3]),
    (&[2, 4, 5, 3], &[0, 2]),
    (&[2, 4, 5, 3], &[1, 3]),
    (&[2, 1, 5, 1], &[1, 2]),
    (&[2, 1, 5, 1], &[1, 3]),
    (&[2, 1, 5, 3], &[0, 2]),
];

#[test]
fn reduce() {
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        for &(shape, axes) in REDUCTIONS {
            for keep_axes in [false, true] {
                let op = Reduce { reduction, axes: axes.to_vec(), keep_axes };
                Case::new(op, [random(shape, 1)]).check();
            }
        }
    }
}

#[test]
fn reduce_in_parts() {
    let cases: &[(&[usize], &[usize])] = &[
        (&[100_003], &[0]),
        (&[50_000, 3], &[0]),
        (&[3, 50_000], &[1]),
        (&[2, 9000, 7], &[1]),
        (&[40, 300, 5], &[1]),
        (&[5, 4000, 9], &[0, 2]),
    ];
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        for &(shape, axes) in cases {
            let op = Reduce { reduction, axes: axes.to_vec(), keep_axes: false };
            Case::new(op, [random(shape, 1)]).check_kernel();
        }
    }
}

#[test]
fn equal_maxima_share_the_gradient() {
    for (shape, axes) in [([2, 2, 3], vec![2]), ([2, 2, 3], vec![0]), ([2, 2, 3], vec![0, 2])] {
        let x = Tensor::f32(shape, [1., 3., 3., 2., 2., 2., 5., 1., 3., 4., 2., 0.]);
        let y = plimsoll_exec::reference::run(
            &Reduce { reduction: Reduction::Max, axes: axes.clone(), keep_axes: false }.into(),
            &[&x],
        );
        let dy = random(y[0].shape().extents(), 2);
        let op = ReduceMaxGradient { axes, keep_axes: false };
        Case::new(op, [x, y[0].clone(), dy]).check_kernel();
    }
}

const ROWS: &[&[usize]] = &[&[1], &[5], &[4, 1], &[3, 17], &[2, 3, 40]];

#[test]
fn cumulate() {
    for bits in 0..8 {
        let op = Cumulate { product: bits & 1 > 0, exclusive: bits & 2 > 0, reverse: bits & 4 > 0 };
        for shape in [&[1][..], &[6], &[3, 5], &[2, 3, 4]] {
            Case::new(op, [random_in(shape, 1, 0.5, 1.5)]).check();
            Case::new(op, [random_in(shape, 1, -1.5, -0.5)]).check();
        }
        Case::new(op, [random_in(&[70, 300], 1, 0.98, 1.02)]).check_kernel();
    }
}

#[test]
fn products() {
    for (shape, axes) in [
        (&[5][..], vec![0]),
        (&[3, 4], vec![1]),
        (&[3, 4], vec![0]),
        (&[2, 3, 4], vec![0, 2]),
        (&[2, 3, 2], vec![1, 2]),
    ] {
        for keep_axes in [false, true] {
            let op = Reduce { reduction: Reduction::Product, axes: axes.clone(), keep_axes };
            Case::new(op, [random_in(shape, 1, 0.5, 1.5)]).check();
        }
    }
    // The gradient where one element is 0, and where two are.
    let x = Tensor::f32([2, 3], [2.0, 0.0, 3.0, 0.0, 0.0, 4.0]);
    let op = Reduce { reduction: Reduction::Product, axes: vec![1], keep_axes: false };
    Case::new(op, [x]).check();
}

#[test]
fn softmax() {
    for shape in ROWS {
        let x = random_in(shape, 1, -4.0, 4.0);
        Case::new(Softmax {}, [x.clone()]).tolerance(1e-6).check();
        Case::new(LogSoftmax {}, [x]).tolerance(1e-6).check();
    }
    for x in [random_in(&[300, 101], 1, -40.0, 40.0), random_in(&[2, 40_000], 2, 900.0, 1000.0)] {
        Case::new(Softmax {}, [x.clone()]).check_kernel();
        Case::new(LogSoftmax {}, [x]).check_kernel();
    }
}

#[test]
fn softmax_gradient_kernels() {
    for shape in ROWS.iter().chain([&&[300, 101][..]]) {
        let (x, dy) = (random_in(shape, 1, -4.0, 4.0), random(shape, 2));
        let y = plimsoll_exec::reference::run(&Softmax {}.into(), &[&x]).remove(0);
        Case::new(SoftmaxGradient {}, [y, dy.clone()]).tolerance(1e-6).check_kernel();
        let y = plimsoll_exec::reference::run(&LogSoftmax {}.into(), &[&x]).remove(0);
        Case::new(LogSoftmaxGradient {}, [y, dy]).check_kernel();
    }
}

/// Every cross-entropy with predictions and targets of that shape that suit it.
fn cross_entropies(shape: &[usize]) -> Vec<(CrossEntropy, [Tensor; 2])> {
    let (classes, rows) = shape.split_last().unwrap();
    let mut cases = Vec::new();
    for targets in [Targets::Sparse, Targets::Categorical, Targets::Binary] {
        for from_logits in [false, true] {
            let predictions = match from_logits {
                true => random_in(shape, 1, -4.0, 4.0),
                false => random_in(shape, 1, 0.05, 0.95),
            };
            let truth = match targets {
                Targets::Sparse => random_ids(rows, 2, *classes as u64),
                // From logits the gradient is that of distributions, as TensorFlow's is.
                Targets::Categorical if from_logits => distributions(random_in(shape, 3, 0.1, 1.0)),
                Targets::Categorical | Targets::Binary => random_in(shape, 3, 0.0, 1.0),
            };
            cases.push((CrossEntropy { targets, from_logits }, [predictions, truth]));
        }
    }
    cases
}

/// Rows that add up to 1.
fn distributions(mut rows: Tensor) -> Tensor {
    let classes = rows.shape().last();
    for row in rows.data.chunks_exact_mut(classes) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|share| *share /= sum);
    }
    rows
}

#[test]
fn targets_that_are_no_distribution_have_tensorflow_s_gradient() {
    let op = CrossEntropy { targets: Targets::Categorical, from_logits: true };
    let [z, t] = [Tensor::f32([1, 3], [0.3, -0.2, 0.5]), Tensor::f32([1, 3], [0.2, 0.9, 0.4])];
    let gradient = CrossEntropyGradient(op);
    let found =
        plimsoll_exec::reference::run(&gradient.into(), &[&z, &t, &Tensor::f32([1], [1.0])]).remove(0);
    // `tf.nn.softmax_cross_entropy_with_logits` of TensorFlow 2.21.
    for (found, wanted) in found.data.iter().zip([0.1536151, -0.6855216, 0.03190646]) {
        assert!((found - wanted).abs() < 1e-6, "{found}, not {wanted}");
    }
    Case::new(gradient, [z, t, random(&[1], 1)]).check_kernel();
}

#[test]
fn cross_entropy() {
    for shape in [&[4][..], &[3, 1], &[5, 3], &[2, 3, 7]] {
        for (op, inputs) in cross_entropies(shape) {
            Case::new(op, inputs.clone()).constant(1).check();
            Case::new(Accuracy(op), inputs.clone()).check_kernel();
            let [predictions, targets] = inputs;
            let rows: Vec<f64> = (0..predictions.shape().elements() / predictions.shape().last())
                .map(|row| f64::from(u8::from(row % 3 != 1)))
                .collect();
            let mask = Tensor::f32(shape[..shape.len() - 1].to_vec(), rows);
            Case::new(Accuracy(op), [predictions, targets, mask]).check_kernel();
        }
    }
}

#[test]
fn cross_entropy_kernels_on_many_rows() {
    for (op, [predictions, targets]) in cross_entropies(&[1700, 13]) {
        let dloss = random(&[1700], 4);
        Case::new(op, [predictions.clone(), targets.clone()]).check_kernel();
        Case::new(Accuracy(op), [predictions.clone(), targets.clone()]).check_kernel();
        Case::new(CrossEntropyGradient(op), [predictions, targets, dloss]).check_kernel();
    }
}

#[test]
fn probabilities_of_0_and_1_give_finite_losses() {
    let predictions = Tensor::f32([3, 2], [0.0, 1.0, 1.0, 0.0, 0.25, 0.75]);
    let one_hot = Tensor::f32([3, 2], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    let labels = Tensor::i32([3], [0.0, 0.0, 0.0]);
    for targets in [Targets::Sparse, Targets::Categorical, Targets::Binary] {
        let op = CrossEntropy { targets, from_logits: false };
        let truth = if targets == Targets::Sparse { labels.clone() } else { one_hot.clone() };
        let inputs = [predictions.clone(), truth];
        let loss = plimsoll_exec::reference::run(&op.into(), &[&inputs[0], &inputs[1]]).remove(0);
        assert!(loss.data.iter().all(|loss| loss.is_finite()), "{loss:?}");
        Case::new(op, inputs.clone()).check_kernel();
        let [p, t] = inputs;
        Case::new(CrossEntropyGradient(op), [p, t, random(&[3], 1)]).check_kernel();
    }
}

#[test]
fn huge_logits_do_not_overflow() {
    let logits = Tensor::f32([2, 3], [1000.0, -1000.0, 0.0, 80.0, 90.0, -90.0]);
    let sparse = CrossEntropy { targets: Targets::Sparse, from_logits: true };
    Case::new(sparse, [logits.clone(), Tensor::i32([2], [1.0, 0.0])]).check_kernel();
    let binary = CrossEntropy { targets: Targets::Binary, from_logits: true };
    let truth = Tensor::f32([2, 3], [1.0, 0.0, 1.0, 0.5, 1.0, 0.0]);
    Case::new(CrossEntropyGradient(binary), [logits, truth, random(&[2], 1)]).check_kernel();
}

#[test]
fn of_equal_predictions_the_first_counts() {
    let op = Accuracy(CrossEntropy { targets: Targets::Sparse, from_logits: false });
    let predictions = Tensor::f32([2, 2], [0.5, 0.5, 0.5, 0.5]);
    let accuracy = plimsoll_exec::reference::run(&op.into(), &[&predictions, &Tensor::i32([2], [0.0, 1.0])]);
    assert_eq!(accuracy[0].data, [0.5]);
    Case::new(op, [predictions, Tensor::i32([2], [0.0, 1.0])]).check_kernel();
}

#[test]
fn labels_outside_the_classes_are_an_error() {
    for label in [-1, 3, i32::MAX] {
        for from_logits in [false, true] {
            let op = CrossEntropy { targets: Targets::Sparse, from_logits };
            let (predictions, dloss) = (random_in(&[2, 3], 1, 0.1, 0.9), random(&[2], 1));
            let labels = Tensor::i32([2], [2.0, f64::from(label)]);
            let pair = vec![predictions, labels];
            let cases: [(OpKind, Vec<Tensor>); 3] = [
                (op.into(), pair.clone()),
                (Accuracy(op).into(), pair.clone()),
                (CrossEntropyGradient(op).into(), [pair, vec![dloss]].concat()),
            ];
            for (kind, inputs) in cases {
                let name = kind.name();
                let error = KernelError::IndexOutOfRange { op: name, index: label.into(), limit: 3 };
                assert_eq!(Case::new(kind, inputs).kernel_error(), error);
            }
        }
    }
}
