//! What reading data of one's own came to.

use crate::Bytes;
use crate::data::{BoundData, Dataset};
use serde::Serialize;
use std::time::Duration;

/// What reading data of one's own came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputReport {
    /// What reading could take, a part of the budget.
    pub memory_bytes: Bytes,
    /// The most that was taken.
    pub peak_bytes: Bytes,
    /// How many samples were read.
    pub samples: u64,
    /// How many threads read.
    pub threads: usize,
    /// How long steps waited for samples.
    pub waited_seconds: f64,
    /// The share of the steps' time that this is.
    pub waited_share: f64,
    /// What took those who read most of their time.
    pub mostly: &'static str,
    /// Samples that were left out, because they cannot be read: the first of them, and why.
    pub left_out: Vec<String>,
    /// How many these are in all.
    pub left_out_count: usize,
}

/// How many samples that were left out are named.
const NAMED: usize = 5;

impl InputReport {
    /// The report of a run whose steps took so long.
    pub(crate) fn of(data: &Dataset, own: Option<&BoundData>, time: Duration) -> Option<Self> {
        let (own, rates) = (own?, data.train.rates()?);
        let waited = rates.waited.as_secs_f64();
        Some(Self {
            memory_bytes: own.memory(),
            peak_bytes: own.peak(),
            samples: rates.samples,
            threads: rates.threads,
            waited_seconds: waited,
            waited_share: waited / time.as_secs_f64().max(f64::MIN_POSITIVE),
            mostly: rates.limited_by(),
            left_out: own.bad.iter().take(NAMED).map(ToString::to_string).collect(),
            left_out_count: own.bad.len(),
        })
    }
}
