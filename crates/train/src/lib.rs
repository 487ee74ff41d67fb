//! From a graph to a training graph: gradients, loss, optimizer.
//!
//! In: the forward graph of a model. Out: the same graph with a loss, the gradients of all
//! parameters and their updates. Everything a step does is an op of that graph, so
//! everything a step needs is seen by the plan.

mod accumulation;
mod composed;
mod descent;
mod evaluation;
mod gate;
mod gradient;
mod head;
pub mod lever;
mod loss;
mod objective;
mod optimizer;
mod penalties;
mod precision;
mod predicted;
mod schedule;
mod training;
mod update;

pub use accumulation::{ApplyingGraph, accumulating_graph, accumulators, applying_graph};
pub use composed::Composed;
pub use descent::{Clip, Descent, LossScale, Settings, slot};
pub use evaluation::{EvaluationGraph, averaged, evaluation_graph};
pub use gate::{Gate, Gated, gated, gated_updates};
pub use gradient::differentiate;
pub use head::HeadValues;
pub use lever::{Allowed, Change, Lever};
pub use loss::{Axes, Loss};
pub use objective::{Head, LossReduction, Objective};
pub use optimizer::{Follow, Muon, Optimizer};
pub use penalties::Added;
pub use precision::Precision;
pub use schedule::Schedule;
pub use training::{TrainingGraph, training_graph};
pub use update::SlotNames;

use plimsoll_graph::{Shape, ShapeError};

/// Why a graph cannot be trained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// An op does not take these inputs.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The loss depends on a parameter through an op that has no gradient.
    #[error("{op} has no gradient")]
    NotDifferentiable {
        /// The op's name.
        op: &'static str,
    },
    /// The loss depends on an output that only serves the op's own gradient.
    #[error("{op} has a gradient for its first output only")]
    AuxiliaryOutput {
        /// The op's name.
        op: &'static str,
    },
    /// The forward graph lists no output, or no output has a loss.
    #[error("the graph has no output to compare with targets")]
    NoOutput,
    /// A loss for an output that is not there.
    #[error("there is no output {position} (`{name}`): the graph has {outputs}, counted from 0")]
    MissingOutput {
        /// What it is called.
        name: String,
        /// Its position.
        position: usize,
        /// How many there are.
        outputs: usize,
    },
    /// Two losses for one output, or two outputs of one name.
    #[error("the output `{name}` has two losses")]
    TwoLosses {
        /// What it is called.
        name: String,
    },
    /// A loss that counts for no number.
    #[error("the loss of `{name}` has the weight {weight}")]
    Weight {
        /// The output.
        name: String,
        /// How much it was to count.
        weight: f32,
    },
    /// Sample weights for predictions that are not one row for each sample.
    #[error("the predictions of `{name}` have no axis besides the samples, so samples cannot have weights")]
    NoSamples {
        /// The output.
        name: String,
    },
    /// A mask that is not one number for each row of the predictions.
    #[error("the mask of `{name}` has shape {mask}, but the losses have {rows}")]
    Mask {
        /// The output.
        name: String,
        /// The shape of its mask.
        mask: Shape,
        /// The shape of its losses.
        rows: Shape,
    },
    /// A loss that does not go with its predictions.
    #[error("the loss {loss} of `{name}` {why}")]
    Unfit {
        /// The output.
        name: String,
        /// The loss.
        loss: String,
        /// What is in the way.
        why: String,
    },
    /// The forward graph has no input that examples could be written to.
    #[error("the graph has no input for samples")]
    NoInput,
    /// There is nothing to learn.
    #[error("nothing is trained: every layer is frozen, or none has weights")]
    NoParameters,
    /// The predictions have no axis that could be classes or features.
    #[error("the predictions are a scalar")]
    ScalarPredictions,
    /// No parameter that the loss depends on.
    #[error("the loss depends on none of the parameters")]
    NothingLearned,
}
