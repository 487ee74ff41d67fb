//! What levers change: single changes to a step, and the choices of a step that they replace.

use super::Lever;
use crate::{Optimizer, Precision};
use std::fmt;

/// One change to a step, by one lever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Updates as soon as they may be made.
    UpdateWhenReady,
    /// Results over inputs that nobody reads any more.
    InPlace,
    /// One graph instead of op by op.
    Graph,
    /// A pool that is taken at once.
    OneRegion,
    /// So many micro-batches.
    MicroBatches(usize),
    /// Values dropped and computed again, as far as a budget makes it necessary.
    Recompute,
    /// Scratch for so many threads.
    Threads(usize),
    /// Another precision.
    Precision(Precision),
    /// Another optimizer.
    Optimizer(Optimizer),
    /// So many samples.
    Batch(usize),
}

/// What a step is made of, as far as levers can change it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choices {
    /// How many samples a step takes.
    pub batch: usize,
    /// Into how many micro-batches they are cut; 1 leaves them whole.
    pub micro_batches: usize,
    /// How parameters follow their gradients.
    pub optimizer: Optimizer,
    /// What layers compute in.
    pub precision: Precision,
    /// The mixed policy that the device is made for, where there is one.
    pub mixed: Option<Precision>,
    /// How many threads have scratch of their own.
    pub threads: usize,
    /// Whether the step runs op by op.
    pub eager: bool,
    /// Whether memory is taken region by region.
    pub growth: bool,
}

impl Lever {
    /// What it could change about a step, the mildest change first. Nothing where it has nothing to change.
    pub fn changes(self, now: Choices) -> Box<dyn Iterator<Item = Change>> {
        let one_if = |applies: bool, change: Change| Box::new(applies.then_some(change).into_iter());
        match self {
            Self::Ready => one_if(now.micro_batches == 1, Change::UpdateWhenReady),
            Self::InPlace => one_if(true, Change::InPlace),
            Self::Graph => one_if(now.eager, Change::Graph),
            Self::Region => one_if(now.growth, Change::OneRegion),
            Self::Accumulate => Box::new((now.micro_batches + 1..=now.batch).map(Change::MicroBatches)),
            Self::Recompute => one_if(true, Change::Recompute),
            Self::Threads => one_if(now.threads > 1, Change::Threads(1)),
            Self::Precision => {
                Box::new(now.mixed.filter(|_| !now.precision.is_mixed()).into_iter().map(Change::Precision))
            }
            Self::Optimizer => Box::new(now.optimizer.leaner().map(Change::Optimizer)),
            Self::Batch => Box::new(smaller_batches(now)),
        }
    }
}

/// Halves, as long as each micro-batch has a sample.
fn smaller_batches(now: Choices) -> impl Iterator<Item = Change> {
    let halves = std::iter::successors(Some(now.batch / 2), |batch| Some(batch / 2));
    halves.take_while(move |&batch| batch >= now.micro_batches.max(1)).map(Change::Batch)
}

impl Change {
    /// Whose change it is.
    pub fn lever(self) -> Lever {
        match self {
            Self::UpdateWhenReady => Lever::Ready,
            Self::InPlace => Lever::InPlace,
            Self::Graph => Lever::Graph,
            Self::OneRegion => Lever::Region,
            Self::Recompute => Lever::Recompute,
            Self::Threads(_) => Lever::Threads,
            Self::MicroBatches(_) => Lever::Accumulate,
            Self::Precision(_) => Lever::Precision,
            Self::Optimizer(_) => Lever::Optimizer,
            Self::Batch(_) => Lever::Batch,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpdateWhenReady => f.pad("update when ready"),
            Self::InPlace => f.pad("in place"),
            Self::Graph => f.pad("tf.function"),
            Self::OneRegion => f.pad("one region instead of growth"),
            Self::Recompute => f.pad("recompute"),
            Self::Threads(1) => f.pad("1 thread"),
            Self::Threads(count) => write!(f, "{count} threads"),
            Self::MicroBatches(count) => write!(f, "{count} micro-batches"),
            Self::Precision(precision) => f.pad(precision.name()),
            Self::Optimizer(optimizer) => write!(f, "optimizer {optimizer}"),
            Self::Batch(batch) => write!(f, "batch {batch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step at which every lever could be pulled.
    const LOOSE: Choices = Choices {
        batch: 12,
        micro_batches: 1,
        optimizer: Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-7, amsgrad: false },
        precision: Precision::Float32,
        mixed: Some(Precision::MixedBfloat16),
        threads: 2,
        eager: true,
        growth: true,
    };

    #[test]
    fn every_lever_makes_changes_of_its_own() {
        for lever in Lever::ALL {
            let changes: Vec<Change> = lever.changes(LOOSE).collect();
            assert!(!changes.is_empty(), "{lever} changes nothing");
            assert!(changes.iter().all(|change| change.lever() == lever), "{lever}: {changes:?}");
        }
    }

    #[test]
    fn levers_that_are_pulled_have_nothing_left_to_change() {
        let tight = Choices {
            batch: 1,
            optimizer: Optimizer::Sgd,
            precision: Precision::MixedFloat16,
            threads: 1,
            eager: false,
            growth: false,
            ..LOOSE
        };
        let left: Vec<Lever> = Lever::ALL.into_iter().filter(|l| l.changes(tight).next().is_some()).collect();
        assert_eq!(left, [Lever::Ready, Lever::InPlace, Lever::Recompute]);
    }

    #[test]
    fn a_micro_batch_keeps_a_sample() {
        let halves = |micro_batches| -> Vec<Change> {
            Lever::Batch.changes(Choices { micro_batches, ..LOOSE }).collect()
        };
        assert_eq!(halves(1), [6, 3, 1].map(Change::Batch));
        assert_eq!(halves(3), [6, 3].map(Change::Batch));
        let cut: Vec<Change> = Lever::Accumulate.changes(Choices { micro_batches: 10, ..LOOSE }).collect();
        assert_eq!(cut, [11, 12].map(Change::MicroBatches));
    }
}
