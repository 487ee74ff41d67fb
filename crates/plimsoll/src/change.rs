//! What levers change about a job.

use crate::Job;
use plimsoll_train::Precision;
use plimsoll_train::lever::{Change, Choices};

impl Job {
    /// What levers can change about it.
    pub fn choices(&self) -> Choices {
        Choices {
            batch: self.batch,
            micro_batches: self.micro_batches,
            optimizer: self.optimizer,
            precision: Precision::Float32,
            mixed: None,
            threads: self.lanes(),
            eager: false,
            growth: false,
        }
    }

    /// The job after a change; nothing where Plimsoll cannot do it. What is computed again is decided with the budget,
    /// not with the job, which stays as it is.
    pub fn with(&self, change: Change) -> Option<Self> {
        let mut job = self.clone();
        match change {
            Change::UpdateWhenReady => job.options.update_when_ready = true,
            Change::InPlace => job.options.in_place = true,
            Change::MicroBatches(count) => job.micro_batches = count,
            Change::Recompute => {}
            Change::Threads(count) => job = job.with_lanes(count),
            Change::Optimizer(optimizer) => job.optimizer = optimizer,
            Change::Batch(batch) => job.batch = batch,
            Change::Graph | Change::OneRegion | Change::Precision(_) => return None,
        }
        Some(job)
    }

    /// The job after several changes.
    pub fn with_all(&self, changes: &[Change]) -> Option<Self> {
        changes.iter().try_fold(self.clone(), |job, &change| job.with(change))
    }
}
