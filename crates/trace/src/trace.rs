//! The events of a trace.
//!
//! Equations that hold at every point of a trace and that `verify` checks in the same words:
//! - a block that is taken is not live; a block that is freed is live.
//! - no two live blocks overlap.
//! - time does not go backwards.
//! - marks stand in the order of the events.
//! - what happens again begins and ends with nothing live, where it is written out and where it happens again.

use crate::{About, Bytes, Mark, Offset, What};
use serde::{Deserialize, Serialize};

/// Names a block; after it was freed the name may be taken again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlockId(pub u32);

/// Names a label of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabelId(pub u32);

/// When something happened: how many ops had begun before it, of those that are written out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u32);

/// Who a block was for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label {
    /// The value, such as `conv1/conv2d`.
    pub value: String,
    /// Why it exists, such as `activation`.
    pub role: String,
    /// The layer, or nothing.
    pub layer: String,
    /// The op that asked for it, or nothing.
    pub op: String,
    /// Whether the op does what one before it did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// Something that happened to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A block became live.
    Take {
        /// When.
        time: Time,
        /// Its name.
        block: BlockId,
        /// Where it begins.
        offset: Offset,
        /// How long it is.
        bytes: Bytes,
        /// Who it is for.
        label: LabelId,
    },
    /// A block's bytes are free again.
    Free {
        /// When.
        time: Time,
        /// Its name.
        block: BlockId,
    },
}

/// What happened to memory, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// What it is of.
    #[serde(default)]
    pub about: About,
    /// Who blocks were for.
    pub labels: Vec<Label>,
    /// What happened to blocks.
    pub events: Vec<Event>,
    /// What happened beside, in the order of the events.
    #[serde(default)]
    pub marks: Vec<Mark>,
}

/// The name of a value as people read it: what is computed again says so.
pub fn shown(value: &str, again: bool) -> String {
    format!("{value}{}", if again { " (again)" } else { "" })
}

impl Label {
    /// The value as people read it.
    pub fn shown(&self) -> String {
        shown(&self.value, self.again)
    }
}

impl Event {
    /// When it happened.
    pub fn time(&self) -> Time {
        match self {
            Self::Take { time, .. } | Self::Free { time, .. } => *time,
        }
    }
}

impl Trace {
    /// The label of a block.
    pub fn label(&self, id: LabelId) -> &Label {
        &self.labels[id.0 as usize]
    }

    /// Adds a label.
    pub fn add_label(&mut self, label: Label) -> LabelId {
        self.labels.push(label);
        LabelId(self.labels.len() as u32 - 1)
    }

    /// Adds a mark behind all events so far.
    pub fn mark(&mut self, what: What) {
        self.marks.push(Mark { after: self.events.len(), what });
    }

    /// The time at which a mark stands: that of the event after it, or of the last one.
    pub fn time_of(&self, mark: &Mark) -> Time {
        self.events.get(mark.after).or(self.events.last()).map_or(Time(0), Event::time)
    }
}
