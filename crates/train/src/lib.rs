//! From a graph to a training graph: gradients, loss, optimizer.
//!
//! In: the forward graph of a model. Out: the same graph with a loss, the gradients of all
//! parameters and their updates. Everything a step does is an op of that graph, so
//! everything a step needs is seen by the plan.

mod accumulation;
mod gate;
mod gradient;
pub mod lever;
mod loss;
mod optimizer;
mod precision;
mod training;

pub use accumulation::{ApplyingGraph, accumulating_graph, accumulators, applying_graph};
pub use gate::{Gate, gated, gated_updates};
pub use gradient::differentiate;
pub use lever::{Allowed, Change, Lever};
pub use loss::Loss;
pub use optimizer::Optimizer;
pub use precision::Precision;
pub use training::{TrainingGraph, training_graph};

use plimsoll_graph::ShapeError;

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
    /// The forward graph lists no output, so there are no predictions.
    #[error("the graph has no output to compare with targets")]
    NoOutput,
    /// The forward graph has no input that examples could be written to.
    #[error("the graph has no input called `x`")]
    NoInput,
    /// There is nothing to learn.
    #[error("the graph has no parameters")]
    NoParameters,
    /// The predictions have no axis that could be classes or features.
    #[error("the predictions are a scalar")]
    ScalarPredictions,
    /// A parameter that the loss does not depend on.
    #[error("the loss does not depend on the parameter `{name}`")]
    UnusedParameter {
        /// The parameter's name.
        name: String,
    },
}
