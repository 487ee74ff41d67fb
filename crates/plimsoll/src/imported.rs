//! Models that Keras has saved, in training: what they were compiled with.

mod numbers;
mod objective;
mod optimizer;
mod saved_optimizer;
mod schedule;

pub use objective::{LOSSES, objective};
pub use optimizer::optimizer;
pub(crate) use saved_optimizer::{SavedOptimizer, saved_numbers, variables};
