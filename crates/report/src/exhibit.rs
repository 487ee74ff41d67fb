//! An exhibit: one plan, trace or prediction as a report shows it.
//!
//! In: a [`plimsoll_trace::Trace`], or buffers from whoever knows more (a plan knows which op reads what). Out:
//! rectangles in space and time with names, and the lines they are compared with.
//!
//! Time is cut into **ticks**. Within a tick everything is taken before anything is freed, so that the bytes of the
//! buffers of a tick add up to the most that was live during it, and no two buffers of a tick overlap. A plan has one
//! tick an op.

mod figures;
mod of_trace;
mod quiet;
mod roles;
mod texts;

pub use figures::{Figures, Sum};
pub use of_trace::ExhibitError;
pub(crate) use of_trace::residents::falls_silent;
pub(crate) use quiet::spans;
pub use quiet::{QUIET_SHARE, quiet};
pub(crate) use roles::ACROSS_STEPS;
pub use roles::{ROLES, RoleLook, look};
pub use texts::{TextId, Texts};

use plimsoll_trace::{Bytes, Offset};
use std::ops::Range;

/// Sizes and places above this are not shown: a page counts in floats, which hold every byte only up to here.
pub const LARGEST: u64 = 1 << 53;

/// One plan, trace or prediction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exhibit {
    /// What it is called beside others.
    pub name: String,
    /// What it is, in a line.
    pub headline: String,
    /// What the time counts.
    pub clock: Clock,
    /// How many ticks there are; all buffers end by then.
    pub ticks: u32,
    /// The time at which each tick begins, ascending; empty where a tick is a unit of time.
    pub times: Vec<u32>,
    /// How many units of time there are, where that is not the number of ticks.
    pub length: Option<u32>,
    /// What runs during each tick, as far as it is known; may be shorter than the ticks.
    pub ops: Vec<Doing>,
    /// Everything that takes memory, in the order in which it begins.
    pub buffers: Vec<Buffer>,
    /// The names that the other fields refer to.
    pub texts: Texts,
    /// What may be taken.
    pub limit: Option<Bytes>,
    /// The most that was in use as another allocator counts, where that is more than the buffers tell.
    pub reported: Option<Bytes>,
    /// What is reserved, from a tick on; empty where it is not known.
    pub reserved: Vec<(u32, Bytes)>,
    /// Points in time that somebody has named.
    pub marks: Vec<(u32, String)>,
    /// What a reader should know beside the figures.
    pub notes: Vec<String>,
}

/// What the time of an exhibit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Ops that have begun.
    #[default]
    Ops,
    /// Takes and frees.
    Events,
}

/// An op and its layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// The kind of op.
    pub op: TextId,
    /// Its layer, or nothing.
    pub layer: TextId,
}

/// A rectangle in space and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The ticks during which it is live, half-open.
    pub live: Range<u32>,
    /// Where it begins.
    pub offset: Offset,
    /// How long it is.
    pub bytes: Bytes,
    /// The value, such as `conv1/conv2d`.
    pub value: TextId,
    /// Why it exists, such as `activation`.
    pub role: TextId,
    /// The layer, or nothing.
    pub layer: TextId,
    /// The op that asked for it, or nothing.
    pub op: TextId,
    /// Whether it holds something that was computed before.
    pub again: bool,
    /// Why it is kept.
    pub kept: Kept,
}

/// Why a buffer is kept for as long as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nobody says: a trace knows takes and frees, not reads.
    Unknown,
    /// It lives across steps.
    AcrossSteps,
    /// The caller reads it after the step.
    ForCaller,
    /// Scratch of the op that asked for it.
    Scratch,
    /// Ops read it.
    Read {
        /// How many.
        count: u32,
        /// The tick of the last.
        last: u32,
    },
}

impl Clock {
    /// What is counted, in the plural.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Ops => "ops",
            Self::Events => "events",
        }
    }
}

impl Exhibit {
    /// The time at which a tick begins.
    pub fn time(&self, tick: u32) -> u32 {
        self.times.get(tick as usize).copied().unwrap_or(tick)
    }

    /// How many units of time there are.
    pub fn length(&self) -> u32 {
        self.length.unwrap_or(self.ticks)
    }

    /// What runs during a tick, in words; nothing where it is not known.
    pub fn doing(&self, tick: u32) -> String {
        let Some(Doing { op, layer }) = self.ops.get(tick as usize) else { return String::new() };
        match (self.texts.get(*op), self.texts.get(*layer)) {
            (op, "") => op.to_string(),
            (op, layer) => format!("{op} of {layer}"),
        }
    }

    /// Buffers that hold values computed a second time.
    pub fn again(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter().filter(|buffer| buffer.again)
    }
}
