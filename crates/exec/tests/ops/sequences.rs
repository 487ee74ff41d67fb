//! Ops on sequences.

use crate::check::{Case, random, random_ids, random_in};
use plimsoll_exec::kernels::KernelError;
use plimsoll_exec::reference::{self, Tensor};
use plimsoll_graph::OpKind;
use plimsoll_graph::op::{
    Attention, AttentionGradient, Embedding, EmbeddingGradient, Gru, GruGradient, Lstm, LstmGradient,
};

#[test]
fn embedding() {
    for (rows, width, ids) in
        [(5, 3, vec![4]), (100, 8, vec![3, 7]), (1, 1, vec![2]), (700, 33, vec![40, 30])]
    {
        let (table, ids) = (random(&[rows, width], 1), random_ids(&ids, 2, rows as u64));
        let dy = random(&[ids.shape().extents(), &[width]].concat(), 3);
        Case::new(EmbeddingGradient { rows }, [ids.clone(), dy]).check_kernel();
        Case::new(Embedding {}, [table, ids]).check();
    }
}

#[test]
fn ids_outside_the_table_are_errors() {
    for id in [7, -1] {
        let ids = Tensor::i32([2], [0.0, id as f64]);
        let wanted = |op| KernelError::IndexOutOfRange { op, index: id, limit: 7 };
        let case = Case::new(Embedding {}, [random(&[7, 2], 1), ids.clone()]);
        assert_eq!(case.kernel_error(), wanted("embedding"));
        let case = Case::new(EmbeddingGradient { rows: 7 }, [ids, random(&[2, 2], 1)]);
        assert_eq!(case.kernel_error(), wanted("embedding_gradient"));
    }
}

#[test]
fn attention() {
    // (n, t, s, h, d, e), on both sides of the kernel's blocks of 64
    let sizes = [
        (1, 1, 1, 1, 1, 1),
        (2, 3, 5, 2, 4, 3),
        (3, 4, 4, 1, 5, 5),
        (2, 70, 70, 2, 3, 4),
        (1, 65, 130, 3, 8, 2),
    ];
    for (n, t, s, h, d, e) in sizes {
        let [q, k, v] = [random(&[n, t, h, d], 1), random(&[n, s, h, d], 2), random(&[n, s, h, e], 3)];
        for causal in [false, true] {
            if causal && t != s {
                continue;
            }
            for mask in [None, Some(mask(n, s))] {
                let op = Attention { scale: 1.3, causal };
                let mut inputs = vec![q.clone(), k.clone(), v.clone()];
                inputs.extend(mask.clone());
                let [y, log_sum] = forward(op, &inputs);
                let mut saved = vec![q.clone(), k.clone(), v.clone(), y, log_sum, random(&[n, t, h, e], 4)];
                saved.extend(mask);
                Case::new(AttentionGradient(op), saved).check_kernel();
                let case = Case::new(op, inputs);
                case.check_kernel();
                // Finite differences interpret the whole op for each element, so they see the small sizes only.
                if n * t * s * h * d < 1000 {
                    case.check_gradient();
                }
            }
        }
    }
}

#[test]
fn large_scores_do_not_overflow() {
    // Beyond e^88, which is the most that a float32 holds.
    let [q, k] = [1, 2].map(|seed| random_in(&[1, 9, 1, 4], seed, -12.0, 12.0));
    Case::new(Attention { scale: 1.0, causal: false }, [q, k, random(&[1, 9, 1, 2], 3)]).check_kernel();
}

#[test]
fn lstm() {
    for (n, t, u) in SEQUENCES {
        for reverse in [false, true] {
            for mask in [None, Some(mask(n, t))] {
                let (projected, recurrent) =
                    (random_in(&[n, t, 4 * u], 1, -2.0, 2.0), recurrent_kernel(u, 4));
                let mut inputs = vec![projected, recurrent.clone()];
                inputs.extend(mask.clone());
                let [h, c, gates] = forward(Lstm { reverse }, &inputs);
                let mut saved = vec![recurrent, h, c, gates, random(&[n, t, u], 3)];
                saved.extend(mask);
                Case::new(LstmGradient { reverse }, saved).check_kernel();
                let case = Case::new(Lstm { reverse }, inputs);
                case.check_kernel();
                if n * t * u < 300 {
                    case.check_gradient();
                }
            }
        }
    }
}

#[test]
fn gru() {
    for (n, t, u) in SEQUENCES {
        for reverse in [false, true] {
            for mask in [None, Some(mask(n, t))] {
                let (projected, recurrent) =
                    (random_in(&[n, t, 3 * u], 1, -2.0, 2.0), recurrent_kernel(u, 3));
                let mut inputs = vec![projected, recurrent.clone(), random(&[3 * u], 4)];
                inputs.extend(mask.clone());
                let [h, gates, inner] = forward(Gru { reverse }, &inputs);
                let mut saved = vec![recurrent, h, gates, inner, random(&[n, t, u], 3)];
                saved.extend(mask);
                Case::new(GruGradient { reverse }, saved).check_kernel();
                let case = Case::new(Gru { reverse }, inputs);
                case.check_kernel();
                if n * t * u < 300 {
                    case.check_gradient();
                }
            }
        }
    }
}

/// Batch, time and units: single ones, more time than batch and the other way round, several of the kernel's blocks of
/// 8 examples and of 32 units.
const SEQUENCES: [(usize, usize, usize); 6] =
    [(1, 1, 1), (2, 5, 3), (5, 1, 2), (7, 3, 4), (35, 4, 5), (17, 20, 37)];

/// Small enough that a rounding error does not grow from step to step.
fn recurrent_kernel(u: usize, gates: usize) -> Tensor {
    let largest = 1.0 / (u as f64).sqrt();
    random_in(&[u, gates * u], 2, -largest, largest)
}

/// What the op's reference gives, which is what its gradient is given.
fn forward<const N: usize>(op: impl Into<OpKind>, inputs: &[Tensor]) -> [Tensor; N] {
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    reference::run(&op.into(), &inputs).try_into().expect("the op has so many outputs")
}

/// Zeros and ones: holes everywhere, and a first sequence in which everything is hidden.
fn mask(n: usize, length: usize) -> Tensor {
    let ids = random_ids(&[n, length], 7, 3);
    let seen = ids.data.iter().enumerate().map(|(i, &id)| f64::from(id > 0.0 && (i >= length || n == 1)));
    Tensor::f32([n, length], seen.collect::<Vec<_>>())
}
