//! The Trace document: what happened to memory.
//!
//! A real run, a prediction, a simulation and a foreign log are all traces, so that one profiler and one report serve
//! all of them. This crate also owns the units every other crate measures memory in: [`Bytes`], [`Offset`],
//! [`Alignment`].
//!
//! Definitions, used everywhere in the same words:
//! - `floor = max over time of live bytes`: no layout can do better.
//! - `peak = max over time of the highest end of a live block`: what the layout really takes.
//! - `fragmentation = peak - floor`.

mod about;
mod bytes;
pub mod evidence;
pub mod file;
mod mark;
mod recorder;
#[cfg(test)]
mod specimen;
mod summary;
pub mod text;
mod trace;
mod verify;
pub mod visible;

pub use about::About;
pub use bytes::{Alignment, Bytes, Offset, SizeError};
pub use evidence::Evidence;
pub use mark::{Mark, What, happened, reserved};
pub use recorder::Recorder;
pub use summary::{Moment, Summary, summarize};
pub use trace::{BlockId, Event, Label, LabelId, Time, Trace, shown};
pub use verify::{TraceError, verify};
