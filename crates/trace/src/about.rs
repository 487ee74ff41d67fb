//! What a trace is of: what a report says above the picture, and the lines it draws into it.

use crate::Bytes;
use serde::{Deserialize, Serialize};

/// What a trace is of. Everything may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// What ran, in a line, such as `resnet20 · 32x32x3 · batch 32 · adam`, or nothing.
    pub title: String,
    /// Where it comes from, such as `planned run`, `eager run`, `prediction`, `TensorFlow profile`, or nothing.
    pub origin: String,
    /// Who decided where blocks lie, such as `plan` or `bfc`, or nothing.
    pub allocator: String,
    /// How many samples a step has.
    pub batch: Option<u32>,
    /// What the device may have: the budget.
    pub limit: Option<Bytes>,
    /// The most bytes that the plan of the same step has live at once: no layout needs less.
    pub floor: Option<Bytes>,
    /// The peak that the plan of the same step promises.
    pub planned_peak: Option<Bytes>,
    /// The most bytes in use as whoever decided counts them, where the events cannot tell: in whole chunks, with what
    /// was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_peak: Option<Bytes>,
}
