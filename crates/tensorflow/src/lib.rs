//! What TensorFlow would do with a model.
//!
//! In: the forward graph of a model and a [`Setup`]. Out: a [`Prediction`]: the trace of one training step as TensorFlow would run it, the peak that it would
//! report and the smallest limit that it would need. How TensorFlow behaves is a table of rules in `rules/`, one for each op, each with its evidence.

mod executor;
mod limit;
mod lowering;
mod optimizer;
mod prediction;
mod program;
mod rules;
mod setup;

pub use prediction::{CUDA_CONTEXT, CUDNN_WORKSPACE, Prediction, predict};
pub use setup::{Device, Mode, Precision, Setup};
