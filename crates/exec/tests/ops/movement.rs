//! Ops that move elements without changing them.

use crate::check::{Case, random, random_ids};
use plimsoll_exec::reference::{self, Tensor};
use plimsoll_graph::op::{
    ArgSort, Broadcast, Cast, Concat, EmbeddingGradient, Pad, Reshape, Slice, TakeAlong, TakeAlongGradient,
    Transpose,
};
use plimsoll_graph::{ElementType, OpKind, Shape, TensorType};

/// Checks the gradient as well where finite differences do not take long.
fn check(op: impl Into<OpKind>, x: Tensor) {
    let case = Case::new(op, [x.clone()]);
    match x.data.len() < 1000 {
        true => case.check(),
        false => case.check_kernel(),
    }
}

#[test]
fn broadcast() {
    let cases: &[(&[usize], &[usize])] = &[
        (&[3], &[3]),
        (&[], &[4, 3]),
        (&[3], &[4, 3]),
        (&[4, 1], &[4, 3]),
        (&[2, 1, 1, 3], &[2, 4, 5, 3]),
        (&[1, 4, 1], &[2, 4, 5]),
        (&[7, 1], &[3, 7, 1009]),
        (&[1009], &[3, 7, 1009]),
    ];
    for &(from, to) in cases {
        let op = Broadcast { shape: Shape::new(to) };
        Case::new(op.clone(), [random_ids(from, 1, 9)]).check_kernel();
        check(op, random(from, 1));
    }
}

#[test]
fn reshape() {
    let op = Reshape { shape: [6, 5000].into() };
    Case::new(op.clone(), [random_ids(&[3, 10_000], 1, 9)]).check_kernel();
    Case::new(op, [random(&[3, 10_000], 1)]).check_kernel();
    Case::new(Reshape { shape: [6].into() }, [random(&[3, 2], 1)]).check();
}

#[test]
fn concat() {
    let cases: &[(usize, &[&[usize]])] = &[
        (0, &[&[3, 2]]),
        (0, &[&[3, 2], &[1, 2], &[4, 2]]),
        (1, &[&[3, 2], &[3, 5], &[3, 1]]),
        (2, &[&[2, 3, 4], &[2, 3, 1]]),
        (1, &[&[2, 3, 4], &[2, 5, 4]]),
    ];
    for &(axis, shapes) in cases {
        let floats: Vec<Tensor> = shapes.iter().zip(1..).map(|(shape, seed)| random(shape, seed)).collect();
        let ids: Vec<Tensor> =
            shapes.iter().zip(1..).map(|(shape, seed)| random_ids(shape, seed, 9)).collect();
        Case::new(Concat { axis }, ids).check_kernel();
        Case::new(Concat { axis }, floats).check();
    }
    let large = [random(&[50, 300, 3], 1), random(&[50, 200, 3], 2)];
    Case::new(Concat { axis: 1 }, large).check_kernel();
}

#[test]
fn slice() {
    let cases: &[(&[usize], &[usize], &[usize])] = &[
        (&[], &[], &[]),
        (&[5], &[0], &[5]),
        (&[5], &[2], &[2]),
        (&[4, 5], &[1, 0], &[2, 5]),
        (&[4, 5], &[0, 2], &[4, 3]),
        (&[2, 6, 7, 3], &[0, 1, 2, 0], &[2, 4, 5, 3]),
        (&[2, 6, 7, 3], &[1, 1, 2, 1], &[1, 4, 5, 2]),
        (&[40, 60, 30], &[1, 5, 3], &[39, 50, 22]),
    ];
    for &(shape, start, size) in cases {
        let op = Slice { start: start.to_vec(), size: size.to_vec() };
        Case::new(op.clone(), [random_ids(shape, 1, 9)]).check_kernel();
        check(op, random(shape, 1));
    }
}

#[test]
fn pad() {
    let cases: &[(&[usize], &[usize], &[usize])] = &[
        (&[], &[], &[]),
        (&[5], &[0], &[0]),
        (&[5], &[2], &[1]),
        (&[4, 5], &[1, 0], &[2, 0]),
        (&[4, 5], &[0, 2], &[0, 3]),
        (&[2, 6, 7, 3], &[0, 1, 2, 0], &[0, 1, 0, 0]),
        (&[2, 3, 2, 3], &[1, 1, 2, 1], &[0, 4, 5, 2]),
        (&[40, 30, 10], &[0, 3, 2], &[5, 3, 2]),
    ];
    for &(shape, before, after) in cases {
        let op = Pad { before: before.to_vec(), after: after.to_vec(), value: -1.5 };
        check(op, random(shape, 1));
    }
}

#[test]
fn transpose() {
    let cases: &[(&[usize], &[usize])] = &[
        (&[], &[]),
        (&[5], &[0]),
        (&[4, 5], &[0, 1]),
        (&[4, 5], &[1, 0]),
        (&[2, 3, 4, 5], &[0, 2, 1, 3]),
        (&[2, 3, 4, 5], &[0, 3, 1, 2]),
        (&[2, 3, 4, 5], &[3, 2, 1, 0]),
        (&[2, 3, 4, 5], &[1, 0, 3, 2]),
        (&[300, 211], &[1, 0]),
        (&[3, 70, 90], &[2, 0, 1]),
    ];
    for &(shape, order) in cases {
        let op = Transpose { order: order.to_vec() };
        Case::new(op.clone(), [random_ids(shape, 1, 9)]).check_kernel();
        check(op, random(shape, 1));
    }
}

#[test]
fn arg_sort() {
    for descending in [false, true] {
        for shape in [&[1][..], &[7], &[3, 5], &[2, 3, 40], &[9, 900]] {
            Case::new(ArgSort { descending }, [random(shape, 1)]).tolerance(0.0).check_kernel();
            // Many of these are equal.
            let few = random_ids(shape, 2, 3);
            Case::new(ArgSort { descending }, [Tensor::f32(few.shape().clone(), few.data)]).check_kernel();
        }
    }
}

#[test]
fn take_along() {
    for (shape, positions) in
        [(&[5][..], &[3][..]), (&[3, 4], &[3, 6]), (&[2, 3, 1], &[2, 3, 2]), (&[90, 80], &[90, 300])]
    {
        let extent = *shape.last().unwrap();
        let positions = random_ids(positions, 1, extent as u64);
        let case = Case::new(TakeAlong {}, [random(shape, 2), positions.clone()]);
        if positions.data.len() < 1000 {
            case.check()
        } else {
            case.check_kernel()
        }
        let dy = random(positions.shape().extents(), 3);
        Case::new(TakeAlongGradient { extent }, [positions, dy]).check_kernel();
    }
    let outside = [random(&[2, 3], 1), Tensor::i32([2, 1], [0.0, 3.0])];
    Case::new(TakeAlong {}, outside).kernel_error();
    let negative = [Tensor::i32([2, 1], [0.0, -1.0]), random(&[2, 1], 1)];
    Case::new(TakeAlongGradient { extent: 3 }, negative).kernel_error();
}

/// Sums by ids in a forward pass.
#[test]
fn rows_added_up_by_ids_have_a_gradient() {
    Case::new(EmbeddingGradient { rows: 4 }, [random_ids(&[6], 1, 4), random(&[6, 3], 2)]).check_gradient();
}

#[test]
fn sixteen_bit_elements_move_as_well() {
    let x = reference::run(&Cast { to: ElementType::Bf16 }.into(), &[&random(&[3, 5, 7], 1)]).remove(0);
    Case::new(Transpose { order: vec![2, 0, 1] }, [x.clone()]).check_kernel();
    Case::new(Slice { start: vec![1, 1, 1], size: vec![2, 3, 5] }, [x.clone()]).check_kernel();
    Case::new(Broadcast { shape: [2, 3, 5, 7].into() }, [x.clone()]).check_kernel();
    Case::new(Concat { axis: 1 }, [x.clone(), x.clone()]).check_kernel();
    Case::new(Reshape { shape: [15, 7].into() }, [x]).check_kernel();
}

/// Halves, ties, overflows, subnormals, both signs; integers beyond float32's precision, two of them just beside a tie.
const NUMBERS: [f64; 18] = [
    0.0,
    1.0,
    -1.0,
    1.5,
    -2.5,
    0.1,
    65504.0,
    65520.0,
    -70000.0,
    1e-7,
    -6e-8,
    1e30,
    16842753.0,
    -16842753.0,
    2147483647.0,
    257.0,
    2049.0,
    -33554432.0,
];

#[test]
fn cast() {
    for from in ElementType::ALL {
        for to in ElementType::ALL {
            // Round the numbers to the first type: that is what its tensors can hold.
            let held = |x: f64| if from == ElementType::I32 { x } else { f64::from(x as f32) };
            let numbers = Tensor::f32([18], NUMBERS.map(held));
            let x = reference::run(&Cast { to: from }.into(), &[&numbers]).remove(0);
            let wanted = reference::run(&Cast { to }.into(), &[&x]).remove(0);
            // Infinities cannot be compared by their difference.
            let finite = |i: &usize| wanted.data[*i].is_finite() && x.data[*i].is_finite();
            let kept: Vec<f64> = (0..18).filter(finite).map(|i| x.data[i]).collect();
            let x = Tensor::new(TensorType::new(from, [kept.len()]), kept);
            // The reference holds float64 where it should hold float32.
            let tolerance = if to == ElementType::F32 { 6e-8 } else { 0.0 };
            Case::new(Cast { to }, [x]).tolerance(tolerance).check_kernel();
        }
    }
    Case::new(Cast { to: ElementType::Bf16 }, [random(&[40_000], 1)]).tolerance(0.0).check_kernel();
    Case::new(Cast { to: ElementType::F16 }, [random(&[40_000], 1)]).tolerance(0.0).check_kernel();
    Case::new(Cast { to: ElementType::F32 }, [random(&[3, 4], 1)]).tolerance(0.0).check();
}

/// Finite differences cannot see through rounding, so the gradient is compared with what it must be: the weights,
/// rounded once.
#[test]
fn the_gradient_of_a_cast_is_a_cast_back() {
    use plimsoll_graph::op::{Binary, Reduce, Reduction};
    use plimsoll_graph::{Graph, Phase, Site};
    let mut graph = Graph::new("cast");
    let site = Site { layer: None, phase: Phase::Forward };
    let x = graph.add_input("x", TensorType::f32([5])).unwrap();
    let weights = graph.add_input("weights", TensorType::f32([5])).unwrap();
    let half = graph.add_single(Cast { to: ElementType::Bf16 }.into(), &[x], site).unwrap();
    let whole = graph.add_single(Cast { to: ElementType::F32 }.into(), &[half], site).unwrap();
    let product = graph.add_single(Binary::Multiply.into(), &[whole, weights], site).unwrap();
    let loss = graph.add_single(Reduce::all(Reduction::Sum, 1).into(), &[product], site).unwrap();
    let gradient = plimsoll_train::differentiate(&mut graph, loss, &[x]).unwrap()[0].unwrap();
    let given = [(x, random(&[5], 1)), (weights, random(&[5], 2))];
    let contents = reference::interpret(&graph, &given.clone().into_iter().collect());
    let rounded = reference::run(&Cast { to: ElementType::Bf16 }.into(), &[&given[1].1]).remove(0);
    assert_eq!(contents[gradient.index()].tensor, TensorType::f32([5]));
    assert_eq!(contents[gradient.index()].data, rounded.data);
}
