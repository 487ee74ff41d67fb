//! Ops that compute each element of the result from the elements at the same place.

use crate::check::{Case, random, random_ids, random_in};
use plimsoll_exec::reference::{self, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{
    BiasAdd, Binary, Bucket, Constant, Dropout, Fill, Hash, NotEqual, OneHot, Otherwise, RandomNormal,
    RandomUniform, Select, Unary, UnaryGradient,
};

#[test]
fn bias_add() {
    for (x, c) in [(vec![5, 3], 3), (vec![2, 4, 4, 7], 7), (vec![1000, 40], 40)] {
        Case::new(BiasAdd {}, [random(&x, 1), random(&[c], 2)]).check();
    }
}

const ALL_BINARY: [Binary; 13] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Maximum,
    Binary::Minimum,
    Binary::GreaterEqual,
    Binary::Less,
    Binary::Equal,
    Binary::NotEqual,
    Binary::Power,
    Binary::Modulo,
    Binary::Atan2,
];

/// Equal, scalar, stretched along leading, trailing, middle and both sides' axes.
const STRETCHES: &[(&[usize], &[usize])] = &[
    (&[3, 5], &[3, 5]),
    (&[], &[]),
    (&[3, 5], &[]),
    (&[1], &[1, 1]),
    (&[1, 1], &[4, 3]),
    (&[4, 3], &[3]),
    (&[4, 3], &[4, 1]),
    (&[2, 1, 1, 3], &[2, 4, 5, 3]),
    (&[2, 4, 5, 3], &[4, 1, 3]),
    (&[2, 4, 5], &[1, 4, 1]),
    (&[4, 1], &[1, 3]),
    (&[2, 1, 3, 1], &[5, 1, 4]),
];

#[test]
fn binary() {
    for op in ALL_BINARY {
        for (a, b) in STRETCHES {
            // Sides whose ranges meet would put some pairs on the kink of a maximum; these differ by 0.2 at least.
            Case::new(op, [random_in(a, 1, 0.5, 1.5), random_in(b, 2, 1.7, 2.5)]).check();
            if op == Binary::Power {
                // A negative number to a power that is not whole has none.
                continue;
            }
            Case::new(op, [random_in(a, 1, -2.5, -1.7), random_in(b, 2, -1.5, -1.3)]).check();
        }
        let low = if op == Binary::Power { 0.1 } else { -1.0 };
        Case::new(op, [random_in(&[7, 5, 3], 1, low, 1.0), random(&[5, 1], 2)]).check_kernel();
    }
}

#[test]
fn binary_on_more_than_one_piece_of_work() {
    let large = &[3, 7, 1009];
    for other in [&large[..], &[], &[7, 1009], &[1009], &[3, 7, 1], &[3, 1, 1009], &[7, 1]] {
        Case::new(Binary::Subtract, [random(large, 1), random(other, 2)]).check_kernel();
        Case::new(Binary::Subtract, [random(other, 2), random(large, 1)]).check_kernel();
    }
}

#[test]
fn equal_sides_count_as_greater_equal() {
    let sides = [Tensor::f32([3], [1.0, -0.0, 2.0]), Tensor::f32([3], [1.0, 0.0, 1.0])];
    Case::new(Binary::GreaterEqual, sides.clone()).check_kernel();
    Case::new(Binary::Less, sides).check_kernel();
}

/// Every function with stretches of its domain that keep away from its kinks.
const ALL_UNARY: &[(Unary, &[(f64, f64)])] = &[
    (Unary::Relu, &[(-2.0, -0.1), (0.1, 2.0)]),
    (Unary::Relu6, &[(-2.0, -0.1), (0.1, 5.9), (6.1, 9.0)]),
    (Unary::LeakyRelu(0.2), &[(-2.0, -0.1), (0.1, 2.0)]),
    (Unary::LeakyRelu(-0.5), &[(-2.0, -0.1), (0.1, 2.0)]),
    (Unary::Elu(1.0), &[(-4.0, -0.1), (0.1, 2.0)]),
    (Unary::Elu(0.3), &[(-4.0, -0.1), (0.1, 2.0)]),
    (Unary::Sigmoid, &[(-20.0, 20.0), (-1.0, 1.0)]),
    (Unary::HardSigmoid, &[(-5.0, -3.1), (-2.9, 2.9), (3.1, 5.0)]),
    (Unary::Softplus, &[(-20.0, 20.0), (-1.0, 1.0), (80.0, 90.0)]),
    (Unary::Tanh, &[(-10.0, 10.0), (-0.1, 0.1)]),
    (Unary::Swish, &[(-20.0, 20.0), (-1.0, 1.0)]),
    (Unary::HardSwish, &[(-5.0, -3.1), (-2.9, 2.9), (3.1, 5.0)]),
    (Unary::Gelu, &[(-8.0, 8.0), (-1.5, 1.5)]),
    (Unary::GeluTanh, &[(-8.0, 8.0), (-1.5, 1.5)]),
    (Unary::Exp, &[(-10.0, 1.0)]),
    (Unary::Log, &[(0.1, 10.0)]),
    (Unary::Sqrt, &[(0.1, 10.0)]),
    (Unary::Rsqrt, &[(0.1, 10.0)]),
    (Unary::Square, &[(-3.0, 3.0)]),
    (Unary::Abs, &[(-3.0, -0.1), (0.1, 3.0)]),
    (Unary::Negate, &[(-3.0, 3.0)]),
    (Unary::AddScalar(1.5), &[(-3.0, 3.0)]),
    (Unary::MultiplyScalar(-1.5), &[(-3.0, 3.0)]),
    (Unary::MaximumScalar(0.5), &[(-3.0, 0.4), (0.6, 3.0)]),
    (Unary::PowerScalar(2.5), &[(0.1, 3.0)]),
    (Unary::PowerScalar(-1.0), &[(0.5, 3.0)]),
    (Unary::PowerScalar(3.0), &[(-2.0, 2.0)]),
    (Unary::Huber(1.0), &[(-3.0, -1.1), (-0.9, 0.9), (1.1, 3.0)]),
    (Unary::Huber(0.5), &[(-3.0, -0.6), (-0.4, 0.4)]),
    (Unary::Sin, &[(-7.0, 7.0)]),
    (Unary::Cos, &[(-7.0, 7.0)]),
    (Unary::Tan, &[(-1.3, 1.3), (2.0, 4.0)]),
    (Unary::Asin, &[(-0.9, 0.9)]),
    (Unary::Acos, &[(-0.9, 0.9)]),
    (Unary::Atan, &[(-5.0, 5.0)]),
    (Unary::Sinh, &[(-3.0, 3.0)]),
    (Unary::Cosh, &[(-3.0, 3.0)]),
    (Unary::Asinh, &[(-5.0, 5.0)]),
    (Unary::Acosh, &[(1.1, 5.0)]),
    (Unary::Atanh, &[(-0.9, 0.9)]),
    (Unary::Erf, &[(-4.0, 4.0), (-0.1, 0.1)]),
    (Unary::ErfInv, &[(-0.95, 0.95), (-0.01, 0.01)]),
    (Unary::Log1p, &[(-0.9, 5.0), (-1e-3, 1e-3)]),
    (Unary::Expm1, &[(-5.0, 1.0), (-1e-3, 1e-3)]),
    (Unary::Floor, &[(-2.9, -2.1), (0.1, 0.9)]),
    (Unary::Ceil, &[(-2.9, -2.1), (0.1, 0.9)]),
    (Unary::Round, &[(-2.4, -1.6), (0.6, 1.4)]),
    (Unary::Trunc, &[(-2.9, -2.1), (0.1, 0.9)]),
    (Unary::Sign, &[(-2.0, -0.1), (0.1, 2.0)]),
    (Unary::IsNan, &[(-2.0, 2.0)]),
    (Unary::IsFinite, &[(-2.0, 2.0)]),
];

#[test]
fn unary() {
    for &(op, stretches) in ALL_UNARY {
        for (seed, &(low, high)) in stretches.iter().enumerate() {
            let x = random_in(&[17, 5], seed as u64, low, high);
            Case::new(op, [x]).tolerance(1e-6).check();
        }
    }
    Case::new(Unary::Gelu, [random_in(&[40_000], 1, -3.0, 3.0)]).tolerance(1e-6).check_kernel();
}

#[test]
fn unary_gradient_kernels() {
    for &(op, stretches) in ALL_UNARY {
        for &(low, high) in stretches {
            let saved = random_in(&[17, 5], 3, low, high);
            Case::new(UnaryGradient(op), [saved, random(&[17, 5], 4)]).tolerance(1e-6).check_kernel();
        }
    }
}

#[test]
fn functions_with_kinks_at_their_kinks() {
    let x = Tensor::f32([7], [-3.0, -1.0, -0.0, 0.0, 1.0, 3.0, 6.0]);
    for &(op, _) in ALL_UNARY.iter().filter(|(op, _)| !matches!(op, Unary::Log | Unary::Rsqrt)) {
        // Where they have no finite result or slope.
        let bounded = matches!(op, Unary::Asin | Unary::Acos | Unary::Acosh | Unary::Atanh | Unary::ErfInv);
        if bounded || matches!(op, Unary::Sqrt | Unary::PowerScalar(_) | Unary::Log1p) {
            continue;
        }
        Case::new(op, [x.clone()]).check_kernel();
        Case::new(UnaryGradient(op), [x.clone(), random(&[7], 1)]).check_kernel();
    }
}

#[test]
fn no_gradient_goes_through_what_is_detached() {
    let x = random(&[17, 5], 1);
    Case::new(Unary::Detach, [x.clone()]).check_kernel();
    Case::new(UnaryGradient(Unary::Detach), [x, random(&[17, 5], 2)]).check_kernel();
}

#[test]
fn modulo_has_the_sign_of_the_divisor() {
    let a = Tensor::f32([6], [5.0, -5.0, 5.0, -5.0, 0.0, 4.0]);
    Case::new(Binary::Modulo, [a, Tensor::f32([6], [3.0, 3.0, -3.0, -3.0, 2.0, -2.0])]).check_kernel();
}

#[test]
fn select() {
    for (condition, a, b) in [
        (&[3, 5][..], &[3, 5][..], &[3, 5][..]),
        (&[3, 5], &[3, 5], &[]),
        (&[3, 5], &[], &[]),
        (&[], &[4], &[4]),
        (&[], &[], &[]),
        (&[40_001], &[40_001], &[40_001]),
    ] {
        let condition = random_ids(condition, 1, 3);
        let condition = Tensor::f32(condition.shape().clone(), condition.data);
        let case = Case::new(Select {}, [condition, random(a, 2), random(b, 3)]).constant(0);
        if a.iter().product::<usize>() < 1000 { case.check() } else { case.check_kernel() }
    }
    // What is not chosen does not matter.
    let sides = [Tensor::f32([2], [1.0, 0.0]), Tensor::f32([2], [3.0, f64::NAN]), Tensor::f32([], [7.0])];
    let chosen = reference::run(&Select {}.into(), &sides.iter().collect::<Vec<_>>()).remove(0);
    assert_eq!(chosen.data, [3.0, 7.0]);
}

#[test]
fn constant() {
    let op = Constant { shape: [2, 3].into(), values: vec![1.0, -2.0, 3.5, 0.0, 1e-9, 7.0] };
    Case::new(op, []).tolerance(0.0).check_kernel();
}

#[test]
fn fill() {
    for shape in [vec![], vec![3, 4], vec![40_000]] {
        Case::new(Fill { shape: Shape::new(shape), value: 0.25 }, []).check_kernel();
    }
}

#[test]
fn not_equal() {
    for shape in [vec![3, 4], vec![40_000]] {
        Case::new(NotEqual { value: 0 }, [random_ids(&shape, 1, 3)]).check_kernel();
        Case::new(NotEqual { value: 2 }, [random_ids(&shape, 2, 3)]).check_kernel();
    }
    Case::new(NotEqual { value: -1 }, [Tensor::i32([3], [-1.0, 0.0, 1.0])]).check_kernel();
}

#[test]
fn dropout() {
    for (rate, seed) in [(0.0, 1), (0.3, 2), (0.9, u64::MAX)] {
        for (shape, step) in [(vec![], 1.0), (vec![5, 7], 2.0), (vec![3, 2], 2e9)] {
            Case::new(Dropout { rate, seed }, [random(&shape, 1), Tensor::i32([], [step])]).check();
        }
        Case::new(Dropout { rate, seed }, [random(&[40_001], 1), Tensor::i32([], [3.0])]).check_kernel();
    }
}

#[test]
fn dropout_drops_the_share_it_should_and_differs_from_step_to_step() {
    let ones = Tensor::f32([40_000], vec![1.0; 40_000]);
    let mask = |seed: u64, step: f64| {
        let op = Dropout { rate: 0.25, seed };
        reference::run(&op.into(), &[&ones, &Tensor::i32([], [step])]).remove(0).data
    };
    let dropped = mask(1, 1.0).iter().filter(|y| **y == 0.0).count();
    assert!((9_700..10_300).contains(&dropped), "{dropped} of 40000");
    assert_eq!(mask(1, 1.0), mask(1, 1.0));
    assert_ne!(mask(1, 1.0), mask(1, 2.0));
    assert_ne!(mask(1, 1.0), mask(2, 1.0));
}

#[test]
fn random_normal() {
    for (shape, step) in [(&[][..], 1.0), (&[5, 7], 2.0), (&[40_001], 3.0)] {
        let op = RandomNormal { shape: Shape::new(shape), deviation: 0.5, seed: 7 };
        Case::new(op, [Tensor::i32([], [step])]).check_kernel();
    }
    let op = RandomNormal { shape: [40_000].into(), deviation: 0.5, seed: 7 };
    let numbers = |step: f64| reference::run(&op.clone().into(), &[&Tensor::i32([], [step])]).remove(0).data;
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / 40_000.0;
    assert!(mean(numbers(1.0)).abs() < 0.01);
    assert!((mean(numbers(1.0).iter().map(|x| x * x).collect()) - 0.25).abs() < 0.01);
    assert_ne!(numbers(1.0), numbers(2.0));
}

#[test]
fn random_uniform() {
    for (shape, step) in [(&[][..], 1.0), (&[5, 7], 2.0), (&[40_001], 3.0)] {
        let op = RandomUniform { shape: Shape::new(shape), seed: 7 };
        Case::new(op, [Tensor::i32([], [step])]).check_kernel();
    }
    let op = RandomUniform { shape: [40_000].into(), seed: 7 };
    let numbers = |step: f64| reference::run(&op.clone().into(), &[&Tensor::i32([], [step])]).remove(0).data;
    let share = |below: f64| numbers(1.0).iter().filter(|x| **x < below).count();
    assert!((9_700..10_300).contains(&share(0.25)) && (29_700..30_300).contains(&share(0.75)));
    assert_eq!((share(0.0), share(1.0)), (0, 40_000));
    assert_ne!(numbers(1.0), numbers(2.0));
}

#[test]
fn one_hot() {
    for shape in [vec![], vec![3, 4], vec![20_000]] {
        Case::new(OneHot { depth: 5 }, [random_ids(&shape, 1, 7)]).check_kernel();
    }
    Case::new(OneHot { depth: 1 }, [Tensor::i32([3], [-1.0, 0.0, 1.0])]).check_kernel();
}

#[test]
fn bucket() {
    let boundaries = Bucket::Boundaries(vec![-0.5, 0.0, 0.0, 0.75]);
    Case::new(boundaries.clone(), [random(&[3, 40], 1)]).check_kernel();
    Case::new(boundaries, [Tensor::f32([4], [-0.5, 0.0, 0.75, 9.0])]).check_kernel();
    let hash = |key| Hash { count: 11, key };
    let others = [
        Otherwise::Fixed(-1),
        Otherwise::Modulo { first: 1, count: 3 },
        Otherwise::Hash { first: 2, hash: hash(None) },
    ];
    for otherwise in others {
        let table = Bucket::Table { entries: vec![[-2, 5], [1, 3], [4, 0]], otherwise };
        Case::new(table.clone(), [random_ids(&[20_000], 1, 9)]).check_kernel();
        Case::new(table, [Tensor::i32([4], [-2.0, -7.0, -1.0, 4.0])]).check_kernel();
    }
    for key in [None, Some([3, 4])] {
        Case::new(Bucket::Hash(hash(key)), [random_ids(&[3, 50], 1, 999)]).check_kernel();
    }
    let table = Bucket::Table { entries: vec![[0, 5], [1, 3], [2, 0]], otherwise: Otherwise::Nothing };
    Case::new(table, [random_ids(&[50], 1, 3)]).check_kernel();
}
