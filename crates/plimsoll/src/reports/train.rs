//! What came of a training run.

use crate::reports::InputReport;
use crate::{Bytes, HeadScore, Outcome};
use serde::Serialize;

/// What came of a training run. What only an eager run has is nothing for a planned one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainReport {
    /// `graph` for a planned run, or `eager`.
    pub mode: &'static str,
    /// Who gave out memory.
    pub allocator: Option<&'static str>,
    /// The most bytes in live blocks.
    pub peak_in_use_bytes: Option<Bytes>,
    /// The most bytes in regions.
    pub peak_reserved_bytes: Option<Bytes>,
    /// The largest share of the free bytes that was not in one piece.
    pub worst_fragmentation: Option<f64>,
    /// How many steps were made in parts.
    pub shrunk_steps: Option<u64>,
    /// How often live blocks were moved together.
    pub compactions: Option<u64>,
    /// What the plan promised; of an eager run, what it would have promised for the same steps.
    pub planned_peak_bytes: Bytes,
    /// What was used.
    pub measured_peak_bytes: Bytes,
    /// The most memory the whole process has had, where the system says it.
    pub peak_rss_bytes: Option<Bytes>,
    /// The loss of the last step.
    pub loss: f32,
    /// What the last step said about each output that is trained.
    pub heads: Vec<HeadScore>,
    /// The loss of samples that were not learned from, where there are such.
    pub test_loss: Option<f32>,
    /// The same for each output.
    pub test_heads: Option<Vec<HeadScore>>,
    /// The share that is predicted right, of the first output that has classes.
    pub accuracy: Option<f32>,
    /// Whether the accuracy was measured on samples that were not learned from.
    pub accuracy_on_test: bool,
    /// Steps done.
    pub steps: u64,
    /// How many of them changed nothing, because something was not finite.
    pub skipped_steps: u64,
    /// How long a step took.
    pub seconds_per_step: f64,
    /// What reading data of one's own came to.
    pub input: Option<InputReport>,
}

impl TrainReport {
    /// The report of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let pool = outcome.pool;
        Self {
            mode: if pool.is_some() { "eager" } else { "graph" },
            allocator: pool.map(|pool| pool.allocator),
            peak_in_use_bytes: pool.map(|pool| pool.peak_in_use),
            peak_reserved_bytes: pool.map(|pool| pool.peak_reserved),
            worst_fragmentation: pool.map(|pool| pool.worst_fragmentation),
            shrunk_steps: pool.map(|pool| pool.shrunk_steps),
            compactions: pool.map(|pool| pool.compactions),
            planned_peak_bytes: outcome.planned_peak,
            measured_peak_bytes: outcome.measured_peak,
            peak_rss_bytes: outcome.peak_resident,
            loss: outcome.last.loss,
            heads: outcome.last.heads.clone(),
            test_loss: outcome.test.as_ref().map(|test| test.loss),
            test_heads: outcome.test.as_ref().map(|test| test.heads.clone()),
            accuracy: outcome.accuracy(),
            accuracy_on_test: outcome.test.is_some(),
            steps: outcome.steps,
            skipped_steps: outcome.skipped,
            seconds_per_step: outcome.time.as_secs_f64() / outcome.steps.max(1) as f64,
            input: None,
        }
    }
}
