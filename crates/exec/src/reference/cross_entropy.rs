//! Cross-entropies, their gradient and accuracy, from their definitions.

use super::softmax::{log_softmax, softmax};
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Accuracy, CrossEntropy, CrossEntropyGradient, Targets};

impl Meaning for CrossEntropy {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [predictions, targets] = inputs else { unreachable!("the shape rule has checked the inputs") };
        vec![rows(self, predictions, targets).map(|(p, t)| loss(self, p, &t)).collect()]
    }
}

impl Meaning for CrossEntropyGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [predictions, targets, dloss] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        let slopes = rows(&self.0, predictions, targets).map(|(p, t)| slope(&self.0, p, &t));
        let scaled = slopes.zip(&dloss.data).flat_map(|(slope, d)| slope.into_iter().map(move |s| s * d));
        vec![scaled.collect()]
    }
}

impl Meaning for Accuracy {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [predictions, targets, mask @ ..] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        let counts = |row: usize| mask.first().is_none_or(|mask| mask.data[row] != 0.0);
        let middle = if self.0.from_logits { 0.0 } else { 0.5 };
        let right: Vec<bool> = rows(&self.0, predictions, targets)
            .enumerate()
            .filter(|(row, _)| counts(*row))
            .flat_map(|(_, (p, t))| match self.0.targets {
                Targets::Sparse | Targets::Categorical => {
                    vec![first_largest(p).is_some_and(|class| first_largest(&t) == Some(class))]
                }
                Targets::Binary => p.iter().zip(&t).map(|(p, t)| (*p > middle) == (*t > 0.5)).collect(),
            })
            .collect();
        vec![vec![right.iter().filter(|right| **right).count() as f64 / right.len().max(1) as f64]]
    }
}

/// Each row of predictions with its row of targets; the number of a class becomes a row that is 1 there.
fn rows<'t>(
    op: &CrossEntropy,
    predictions: &'t Tensor,
    targets: &'t Tensor,
) -> impl Iterator<Item = (&'t [f64], Vec<f64>)> {
    let (classes, sparse) = (predictions.shape().last(), op.targets == Targets::Sparse);
    predictions.data.chunks_exact(classes).enumerate().map(move |(row, p)| match sparse {
        true => {
            let mut one_hot = vec![0.0; classes];
            one_hot[targets.data[row] as usize] = 1.0;
            (p, one_hot)
        }
        false => (p, targets.data[row * classes..(row + 1) * classes].to_vec()),
    })
}

fn loss(op: &CrossEntropy, p: &[f64], t: &[f64]) -> f64 {
    let minus_sum = |logs: &[f64]| -logs.iter().zip(t).map(|(log, t)| t * log).sum::<f64>();
    // The other classes of a label have no part in the loss, not even where their logarithm is infinite.
    let minus_label = |logs: &[f64]| -logs.iter().zip(t).find(|(_, t)| **t == 1.0).expect("a label").0;
    match (op.targets, op.from_logits) {
        (Targets::Sparse, true) => minus_label(&log_softmax(p)),
        (Targets::Categorical, true) => minus_sum(&log_softmax(p)),
        (Targets::Sparse, false) => {
            minus_label(&log_softmax(&p.iter().map(|p| clipped(*p).ln()).collect::<Vec<_>>()))
        }
        (Targets::Categorical, false) => {
            let sum: f64 = p.iter().sum();
            minus_sum(&p.iter().map(|p| clipped(p / sum).ln()).collect::<Vec<_>>())
        }
        (Targets::Binary, from_logits) => {
            let one = |p: f64, t: f64| match from_logits {
                // log(sigmoid(z)) and log(1 - sigmoid(z)) = log(sigmoid(-z))
                true => t * (-p).exp().ln_1p() + (1.0 - t) * p.exp().ln_1p(),
                false => -(t * clipped(p).ln() + (1.0 - t) * (1.0 - clipped(p)).ln()),
            };
            p.iter().zip(t).map(|(p, t)| one(*p, *t)).sum::<f64>() / p.len() as f64
        }
    }
}

/// The derivative of the row's loss with respect to each prediction.
/// From logits, targets are taken to add up to 1 whatever they do, as TensorFlow does it.
fn slope(op: &CrossEntropy, p: &[f64], t: &[f64]) -> Vec<f64> {
    let of_logits =
        |logits: &[f64]| -> Vec<f64> { softmax(logits).iter().zip(t).map(|(s, t)| s - t).collect() };
    match (op.targets, op.from_logits) {
        (Targets::Sparse | Targets::Categorical, true) => of_logits(p),
        (Targets::Sparse, false) => {
            let logs: Vec<f64> = p.iter().map(|p| clipped(*p).ln()).collect();
            of_logits(&logs).iter().zip(p).map(|(d, p)| d * log_slope(*p)).collect()
        }
        (Targets::Categorical, false) => {
            let sum: f64 = p.iter().sum();
            let shares: Vec<f64> = p.iter().map(|p| p / sum).collect();
            let dshare: Vec<f64> = shares.iter().zip(t).map(|(share, t)| -t * log_slope(*share)).collect();
            let common: f64 = dshare.iter().zip(&shares).map(|(d, share)| d * share).sum();
            dshare.iter().map(|d| (d - common) / sum).collect()
        }
        (Targets::Binary, from_logits) => {
            let count = p.len() as f64;
            let one = |p: f64, t: f64| match from_logits {
                true => 1.0 / (1.0 + (-p).exp()) - t,
                false if is_inside(p) => (1.0 - t) / (1.0 - p) - t / p,
                false => 0.0,
            };
            p.iter().zip(t).map(|(p, t)| one(*p, *t) / count).collect()
        }
    }
}

/// The bounds are float32 numbers, as they are in Keras: the upper one is 1 - 2^-23.
const LOW: f64 = 1e-7f32 as f64;
const HIGH: f64 = (1.0f32 - 1e-7f32) as f64;

fn clipped(p: f64) -> f64 {
    p.clamp(LOW, HIGH)
}

/// The derivative of `ln(clipped(p))`: 0 where p is clipped, and where it is NaN.
fn log_slope(p: f64) -> f64 {
    if is_inside(p) { 1.0 / p } else { 0.0 }
}

fn is_inside(p: f64) -> bool {
    (LOW..=HIGH).contains(&p)
}

/// Nothing where no element is a number.
fn first_largest(row: &[f64]) -> Option<usize> {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter().position(|x| *x == largest)
}
