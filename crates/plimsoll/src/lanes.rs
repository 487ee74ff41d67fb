//! How many threads have scratch of their own: fewer make a plan smaller and some ops slower, and change no number.
//!
//! What a step computes must not depend on the machine. So what decides about numbers, the count of micro-batches, is
//! decided for one lane and typical prices, wherever the job will run; and what fits there fits with any number of
//! threads, because a plan may always do with fewer lanes than there are threads.

use crate::{Bytes, Job, JobError, Prepared};
use plimsoll_exec::CpuBackend;
use plimsoll_plan::Profile;
use std::sync::Arc;

impl Job {
    /// How many threads run its kernels.
    pub fn threads(&self) -> usize {
        self.backend.cpu().map_or(1, |cpu| cpu.threads)
    }

    /// How many of them have scratch of their own.
    pub fn lanes(&self) -> usize {
        self.backend.cpu().map_or(1, |cpu| cpu.lanes)
    }

    /// The same with scratch for so many threads, one at least. The numbers are the same.
    pub fn with_lanes(&self, lanes: usize) -> Self {
        let lanes = lanes.clamp(1, self.threads());
        let backend = self.backend.cpu().map(|cpu| Arc::new(CpuBackend { lanes, ..*cpu }) as _);
        Self { backend: backend.unwrap_or(self.backend.clone()), ..self.clone() }
    }

    /// Half as many lanes, half of those, and so on down to one.
    pub(crate) fn fewer_lanes(&self) -> impl Iterator<Item = usize> + use<> {
        std::iter::successors(Some(self.lanes() / 2), |lanes| Some(lanes / 2)).take_while(|&lanes| lanes > 0)
    }

    /// The same as every machine sees it: one lane, at typical prices.
    pub(crate) fn on_any_machine(&self) -> Self {
        Self { profile: Profile::default(), ..self.with_lanes(1) }
    }
}

/// Prepares a job with as many lanes as fit a budget; if not even one does, with one.
pub(crate) fn most_lanes(
    job: &Job,
    budget: Bytes,
    prepare: impl Fn(&Job) -> Result<Prepared, JobError>,
) -> Result<Prepared, JobError> {
    let most = prepare(job)?;
    if most.peak() <= budget || job.lanes() == 1 || !fewer_may_do(&most, budget) {
        return Ok(most);
    }
    let one = prepare(&job.with_lanes(1))?;
    if one.peak() > budget {
        return Ok(if one.peak() < most.peak() { one } else { most });
    }
    for lanes in job.fewer_lanes().filter(|&lanes| lanes > 1) {
        let fewer = prepare(&job.with_lanes(lanes))?;
        if fewer.peak() <= budget {
            return Ok(fewer);
        }
    }
    Ok(one)
}

/// Whether a plan has as much scratch at a time as it is too large. Fewer lanes take away no more.
pub(crate) fn fewer_may_do(prepared: &Prepared, budget: Bytes) -> bool {
    let plans = prepared.arena.plans().iter().map(|plan| plan.plan());
    let scratch = plans.flat_map(|plan| plan.scratch.iter().flatten().map(|&id| plan.buffer(id).bytes));
    scratch.max().is_some_and(|scratch| prepared.peak().saturating_sub(budget) <= scratch)
}
