//! The largest batch that fits and is not too slow.

use super::{Fit, fit};
use crate::planning::Aim;
use crate::{Bytes, Job, JobError, Prepared};
use plimsoll_plan::Residents;
use plimsoll_train::{Allowed, Lever};

/// No batch larger than this is looked for.
const MOST: usize = 1 << 20;

/// Finds the largest whole batch that fits a budget and whose time per sample is at most `slowdown` above that of the
/// model as written, as a share of it. The batch of the job plays no part. An error says what is in the way of a single
/// sample.
///
/// A batch in micro-batches could be of any size, so they are not counted here.
pub fn largest_batch(job: &Job, budget: Bytes, slowdown: f64) -> Result<Fit, JobError> {
    let fits = |batch: usize| {
        let job = Job { batch, micro_batches: 1, ..job.clone() };
        let prepared = Prepared::new(&job, Aim::quickly_within(budget).or_none(), &Residents::default())?;
        let extra = prepared.seconds() / prepared.seconds_as_written() - 1.0;
        Ok::<bool, JobError>(prepared.peak() <= budget && extra <= slowdown)
    };
    let (mut low, mut high) = (1, 2);
    while high < MOST && fits(high)? {
        (low, high) = (high, 2 * high);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle)? { low = middle } else { high = middle }
    }
    fit(
        &Job { batch: low, micro_batches: 1, ..job.clone() },
        budget,
        Allowed::EXACT.without(Lever::Accumulate),
    )
}
