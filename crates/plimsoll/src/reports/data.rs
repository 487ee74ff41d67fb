//! What is in data of one's own.

use crate::Bytes;
use plimsoll_input::ClassCount;
use serde::Serialize;

/// What is in data of one's own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataReport {
    /// Where.
    pub path: String,
    /// What kind of data.
    pub kind: &'static str,
    /// How many samples there are to learn from.
    pub samples: usize,
    /// How many there are to judge by, if there are such.
    pub test_samples: Option<usize>,
    /// What each sample has.
    pub columns: Vec<ColumnReport>,
    /// What images there are, in words.
    pub pictures: Option<String>,
    /// The classes and how many samples each has, if there are such.
    pub classes: Option<Vec<ClassCount>>,
    /// Samples that cannot be read, and why.
    pub broken: Vec<String>,
    /// Images that are there more than once, without the first of each; nothing where nobody has looked.
    pub twice: Option<Vec<String>>,
    /// What else should be known.
    pub notes: Vec<String>,
    /// What reading could take.
    pub memory_bytes: Bytes,
    /// The most that was taken.
    pub peak_bytes: Bytes,
    /// How fast samples are read.
    pub rate: RateReport,
}

/// What each sample has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnReport {
    /// What it is called.
    pub name: String,
    /// What it seems to be for.
    pub role: Option<String>,
    /// What is in it.
    pub content: String,
}

/// How fast samples are read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateReport {
    /// How many were read for this.
    pub samples: usize,
    /// How many a second.
    pub samples_per_second: f64,
    /// By how many threads.
    pub threads: usize,
    /// How many were wanted at once.
    pub batch: usize,
    /// How long a thread reads a sample's file.
    pub read_seconds: f64,
    /// How long it decodes it.
    pub decode_seconds: f64,
    /// How long it resizes it.
    pub resize_seconds: f64,
    /// Which of these takes most.
    pub mostly: &'static str,
}
