//! The CPU kernels of cross-entropies, of their gradient, and of accuracy: a row at a time.

use super::elementwise::{PIECE, Side, by_rows, combine, largest, sum, sum_pairs};
use super::exponential::{exp, sigmoid};
use super::{Call, CpuKernel, KernelError};
use crate::kernels::Input;
use plimsoll_graph::op::{Accuracy, CrossEntropy, CrossEntropyGradient, Targets};
use rayon::prelude::*;

/// Probabilities are kept this far from 0 and 1.
const EPSILON: f32 = 1e-7;

impl CpuKernel for CrossEntropy {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([predictions, targets], [loss]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let classes = predictions.shape().last();
        let (predictions, truth) = (predictions.f32(), Truth::of("cross_entropy", self, targets, classes)?);
        let rows = loss.f32().par_iter_mut().with_min_len(PIECE.div_ceil(classes));
        rows.zip(predictions.par_chunks(classes)).enumerate().for_each(|(row, (loss, p))| {
            *loss = match truth.row(row, classes) {
                Row::Label(label) => sparse_loss(self.from_logits, p, label),
                Row::Distribution(t) => categorical_loss(self.from_logits, p, t),
                Row::Answers(t) => binary_loss(self.from_logits, p, t),
            }
        });
        Ok(())
    }
}

impl CpuKernel for CrossEntropyGradient {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([predictions, targets, dloss], [dpredictions]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (classes, op) = (predictions.shape().last(), &self.0);
        let truth = Truth::of("cross_entropy_gradient", op, targets, classes)?;
        let (predictions, dloss) = (Side::of(predictions), dloss.f32());
        by_rows(dpredictions, classes, |start, dp| {
            let (row, p) = (start / classes, predictions.cut(start, classes));
            let dloss = dloss[row];
            match (truth.row(row, classes), op.from_logits) {
                (Row::Label(label), true) => {
                    softmax_gradient(p, dp, dloss);
                    dp[label] -= dloss;
                }
                (Row::Distribution(t), true) => {
                    softmax_gradient(p, dp, dloss);
                    combine(dp, Side::Here, Side::Run(t), |dp, t| dp - dloss * t);
                }
                (Row::Label(label), false) => sparse_gradient(p, dp, label, dloss),
                (Row::Distribution(t), false) => categorical_gradient(p, dp, t, dloss),
                (Row::Answers(t), from_logits) => binary_gradient(from_logits, p, dp, t, dloss),
            }
        });
        Ok(())
    }
}

impl CpuKernel for Accuracy {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([predictions, targets, mask @ ..], [accuracy]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let mask = mask.first().map(Input::f32);
        let counts = |row: usize| mask.is_none_or(|mask| mask[row] != 0.0);
        let classes = predictions.shape().last();
        let (predictions, truth) = (predictions.f32(), Truth::of("accuracy", &self.0, targets, classes)?);
        let middle = if self.0.from_logits { 0.0 } else { 0.5 };
        let rows = predictions.par_chunks(classes).with_min_len(PIECE.div_ceil(classes)).enumerate();
        // Counts are integers, so the order in which they are added does not matter.
        let right: usize = rows
            .filter(|(row, _)| counts(*row))
            .map(|(row, p)| match truth.row(row, classes) {
                Row::Label(label) => usize::from(first_largest(p) == Some(label)),
                Row::Distribution(t) => {
                    usize::from(first_largest(p).is_some_and(|class| first_largest(t) == Some(class)))
                }
                Row::Answers(t) => p.iter().zip(t).filter(|(p, t)| (**p > middle) == (**t > 0.5)).count(),
            })
            .sum();
        let rows =
            mask.map_or(predictions.len() / classes, |mask| mask.iter().filter(|x| **x != 0.0).count());
        let asked = match self.0.targets {
            Targets::Sparse | Targets::Categorical => rows,
            Targets::Binary => rows * classes,
        };
        accuracy.f32()[0] = (right as f64 / asked.max(1) as f64) as f32;
        Ok(())
    }
}

/// The targets.
enum Truth<'a> {
    Labels(&'a [i32]),
    Distributions(&'a [f32]),
    Answers(&'a [f32]),
}

/// The targets of one row.
enum Row<'a> {
    Label(usize),
    Distribution(&'a [f32]),
    Answers(&'a [f32]),
}

impl<'a> Truth<'a> {
    /// Labels are checked here, so that rows need not be.
    fn of(
        name: &'static str,
        op: &CrossEntropy,
        targets: &'a Input,
        classes: usize,
    ) -> Result<Self, KernelError> {
        match op.targets {
            Targets::Categorical => Ok(Self::Distributions(targets.f32())),
            Targets::Binary => Ok(Self::Answers(targets.f32())),
            Targets::Sparse => {
                let labels = targets.i32();
                let outside = |label: &&i32| usize::try_from(**label).map_or(true, |label| label >= classes);
                match labels.iter().find(outside) {
                    None => Ok(Self::Labels(labels)),
                    Some(&label) => {
                        Err(KernelError::IndexOutOfRange { op: name, index: label.into(), limit: classes })
                    }
                }
            }
        }
    }

    fn row(&self, row: usize, classes: usize) -> Row<'a> {
        match self {
            Self::Labels(labels) => Row::Label(labels[row] as usize),
            Self::Distributions(all) => Row::Distribution(&all[row * classes..(row + 1) * classes]),
            Self::Answers(all) => Row::Answers(&all[row * classes..(row + 1) * classes]),
        }
    }
}

fn sparse_loss(from_logits: bool, p: &[f32], label: usize) -> f32 {
    match from_logits {
        true => log_sum_exp(p) - p[label],
        false => sum(p, clipped).ln() - clipped(p[label]).ln(),
    }
}

fn categorical_loss(from_logits: bool, p: &[f32], t: &[f32]) -> f32 {
    if from_logits {
        let log_sum = log_sum_exp(p);
        return sum_pairs(p, t, |z, t| t * (log_sum - z));
    }
    let scale = 1.0 / sum(p, |p| p);
    sum_pairs(p, t, |p, t| -t * clipped(p * scale).ln())
}

fn binary_loss(from_logits: bool, p: &[f32], t: &[f32]) -> f32 {
    let total = match from_logits {
        true => sum_pairs(p, t, |z, t| z.max(0.0) - z * t + exp(-z.abs()).ln_1p()),
        false => sum_pairs(p, t, |p, t| {
            let p = clipped(p);
            -(t * p.ln() + (1.0 - t) * (1.0 - p).ln())
        }),
    };
    total / p.len() as f32
}

/// `dz = softmax(z) weight`
fn softmax_gradient(z: Side<'_>, dz: &mut [f32], weight: f32) {
    let largest = largest(z.elements(dz));
    combine(dz, z, Side::Same(largest), |z, largest| exp(z - largest));
    let scale = weight / sum(dz, |e| e);
    dz.iter_mut().for_each(|dz| *dz *= scale);
}

fn sparse_gradient(p: Side<'_>, dp: &mut [f32], label: usize, dloss: f32) {
    let share = dloss / sum(p.elements(dp), clipped);
    let right = p.elements(dp)[label];
    combine(dp, p, Side::Same(share), |p, share| share * f32::from(is_inside(p)));
    if is_inside(right) {
        dp[label] -= dloss / right;
    }
}

fn categorical_gradient(p: Side<'_>, dp: &mut [f32], t: &[f32], dloss: f32) {
    let scale = 1.0 / sum(p.elements(dp), |p| p);
    let counts = |p: f32, t: f32| if is_inside(p * scale) { t } else { 0.0 };
    let total = sum_pairs(p.elements(dp), t, counts);
    let factor = dloss * scale;
    combine(dp, p, Side::Run(t), |p, t| factor * (total - counts(p, t) / clipped(p * scale)));
}

fn binary_gradient(from_logits: bool, p: Side<'_>, dp: &mut [f32], t: &[f32], dloss: f32) {
    let share = dloss / t.len() as f32;
    match from_logits {
        true => combine(dp, p, Side::Run(t), |z, t| share * (sigmoid(z) - t)),
        false => combine(dp, p, Side::Run(t), |p, t| match is_inside(p) {
            true => share * ((1.0 - t) / (1.0 - p) - t / p),
            // 0, or NaN.
            false => share * 0.0,
        }),
    }
}

fn log_sum_exp(z: &[f32]) -> f32 {
    let largest = largest(z);
    largest + sum(z, |z| exp(z - largest)).ln()
}

fn clipped(p: f32) -> f32 {
    p.clamp(EPSILON, 1.0 - EPSILON)
}

fn is_inside(p: f32) -> bool {
    (EPSILON..=1.0 - EPSILON).contains(&p)
}

/// `None` if there is no number among the elements.
fn first_largest(row: &[f32]) -> Option<usize> {
    let largest = largest(row);
    row.iter().position(|x| *x == largest)
}
