//! Notes: what a caller should know although nothing is wrong. The library prints nothing; its caller decides what
//! becomes of them.

use crate::Bytes;
use serde::Serialize;

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // each message says what the fields are
pub enum Note {
    /// Something that a model's file says and that is done otherwise here, or left out.
    #[error("{0}")]
    File(String),
    /// How layers compute where another framework runs them.
    #[error("{0}")]
    Policy(String),
    /// Something about data of one's own.
    #[error("{0}")]
    Data(String),
    /// A profile that was measured and is not used.
    #[error("{0}")]
    Profile(String),
    /// An optimizer other than the one of the file.
    #[error(
        "the file was compiled with {file}; with {given} its settings and what it remembered are left aside, and the learning rate is {given}'s own unless another is given"
    )]
    OtherOptimizer { file: String, given: String },
    /// Something that a file was compiled with and that is not known.
    #[error("{why}; what is shown is with {instead} in its place")]
    Instead { why: String, instead: String },
    /// What the optimizer of a file remembered is used.
    #[error("the optimizer goes on after {updates} updates that Keras has made")]
    OptimizerGoesOn { updates: u64 },
    /// An output that the objective leaves out.
    #[error("the output `{output}` has no loss: it is not trained")]
    IdleOutput { output: String },
    /// A loss that is told of logits and gets probabilities.
    #[error(
        "the loss of `{output}` says from_logits=True, but the output is made by a softmax or a sigmoid: as in Keras, the loss is computed from what that was applied to"
    )]
    NoLogits { output: String },
    /// Parameters that the loss does not depend on.
    #[error("the loss does not depend on {count} of the weights, such as `{name}`: they stay as they are")]
    IdleWeights { name: String, count: usize },
    /// A batch that is cut.
    #[error(
        "the batch is cut into {count} micro-batches of {rows} samples at most: sums over the batch round in another order, so losses differ from those of a whole batch in their last digits{}",
        if *.random { "; and what is random in the model, such as dropout, is drawn anew for each" } else { "" }
    )]
    MicroBatches { count: usize, rows: usize, random: bool },
    /// Others whose memory an automatic limit leaves alone.
    #[error("the automatic limit leaves {promised} to other runs, which have promised to take it")]
    Promised { promised: Bytes },
    /// Memory that is taken at once, where nobody said how much.
    #[error(
        "without a limit, what the plan needs is taken at once ({peak}), not the automatic limit of {limit}"
    )]
    TakenAtOnce { peak: Bytes, limit: Bytes },
    /// A run that goes on from a state.
    #[error("goes on after step {step}, with {position} samples drawn")]
    GoesOn { step: u64, position: u64 },
    /// What a state has and the model does not.
    #[error(
        "the state has {count} tensors that the model has not, the first is `{first}`; they are left out"
    )]
    LeftOut { count: usize, first: String },
    /// Limits that are allowed, but more than is free now.
    #[error("the limits come to {limits}, but only {left} are free now")]
    Limits { limits: Bytes, left: Bytes },
}
