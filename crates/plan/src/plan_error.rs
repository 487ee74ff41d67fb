//! Why a plan, or an arena of plans, would not work.

use plimsoll_graph::{OpId, ValueId};
use plimsoll_trace::{Alignment, Bytes, Offset};

/// Why a plan would not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum PlanError {
    #[error("the plan is for another graph: it has {found} {what}, the graph needs {wanted}")]
    OtherGraph { what: &'static str, found: usize, wanted: usize },
    #[error("the plan is for another target: its {what} is {found}, here it is {wanted}")]
    OtherTarget { what: &'static str, found: String, wanted: String },
    #[error("pages of {page} are not made of whole multiples of {}", .alignment.bytes())]
    BadPage { page: Bytes, alignment: Alignment },
    #[error("op {} runs twice or does not exist", .op.0)]
    BadOrder { op: OpId },
    #[error("{value} has no buffer, one of another size, or one although it is never computed")]
    BadStorage { value: ValueId },
    #[error("step {step} has no scratch of its own, or some although its kernel needs none")]
    BadScratch { step: u32 },
    #[error("buffer {buffer}, of {holder}, has another {what} than follows from who uses it")]
    BadBuffer { buffer: usize, holder: String, what: &'static str },
    #[error("buffer {buffer} is used by nobody")]
    Unused { buffer: usize },
    #[error("{holder} takes {bytes}, but a {what} holds {limit}")]
    TooLarge { holder: String, bytes: Bytes, what: &'static str, limit: Bytes },
    #[error("{holder} lies {problem}")]
    BadPlace { holder: String, problem: &'static str },
    #[error("{one} and {other} lie over each other in step {step}")]
    Overlap { one: String, other: String, step: u32 },
    #[error("step {step} reads {value}, but its bytes are not (or no longer) there")]
    Lost { step: u32, value: ValueId },
    #[error("step {step} writes {value} over something it still reads or writes")]
    Clash { step: u32, value: ValueId },
    #[error("step {step} gives the bytes of its input as {value}, which has other bytes")]
    BadView { step: u32, value: ValueId },
    #[error("after the last step, {value} is not where the caller expects it")]
    NotKept { value: ValueId },
    #[error("the plan says {what} is {said}, but it is {found}")]
    WrongFigure { what: &'static str, said: Bytes, found: Bytes },
    #[error("an arena needs a plan")]
    NoPlan,
    #[error("`{name}` lies at {} in one plan and at {} in another of the same arena", .one.0, .other.0)]
    Moved { name: String, one: Offset, other: Offset },
    #[error("`{name}` is a {one} in one plan and a {other} in another of the same arena")]
    OtherValue { name: String, one: String, other: String },
    #[error("`{one}` and `{other}`, which both live across steps, lie over each other")]
    Shared { one: String, other: String },
    #[error("what lives across steps ends at {one} in one plan and at {other} in another of the same arena")]
    OtherPersistent { one: Bytes, other: Bytes },
}
