//! How many threads have scratch of their own: fewer make a plan smaller and some ops slower, and change no number. An
//! op that needs scratch runs on so many threads, and is taken to be slower in proportion.
//!
//! What a step computes must not depend on the machine. So what decides about numbers, the count of micro-batches, is
//! decided for one lane and typical prices, wherever the job will run; and what fits there fits with any number of
//! threads, because a plan may always do with fewer lanes than there are threads.

use crate::{Bytes, Job, JobError, Prepared};
use plimsoll_exec::CpuBackend;
use plimsoll_graph::{Graph, OpId, ValueId};
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

    /// The same as every machine sees it: one thread, at typical prices.
    pub(crate) fn on_any_machine(&self) -> Self {
        let backend =
            self.backend.cpu().map(|cpu| Arc::new(CpuBackend { threads: 1, lanes: 1, ..*cpu }) as _);
        let backend = backend.unwrap_or(self.backend.clone());
        Self { profile: Profile::default(), backend, ..self.clone() }
    }

    /// How much longer each op of a graph takes because fewer threads than there are have scratch for it.
    pub(crate) fn slower_by_lanes<'a>(&'a self, graph: &'a Graph) -> impl Fn(OpId) -> f64 + 'a {
        let (threads, lanes) = (self.threads(), self.lanes());
        let scratch = |lanes: usize| self.with_lanes(lanes).target().kernels;
        let kernels = (lanes < threads).then(|| [scratch(lanes), scratch(threads)]);
        move |id: OpId| {
            let Some([few, all]) = &kernels else { return 1.0 };
            let op = graph.op(id);
            let types = |ids: &[ValueId]| ids.iter().map(|&id| graph.tensor(id).clone()).collect::<Vec<_>>();
            let (inputs, outputs) = (types(&op.inputs), types(&op.outputs));
            let [few, all] = [few, all].map(|kernels| kernels.scratch(&op.kind, &inputs, &outputs));
            if few < all { threads as f64 / lanes as f64 } else { 1.0 }
        }
    }
}

/// Prepares a job, or one for each of several lengths, with the number of lanes that should be fastest within a budget:
/// as many as there are threads, or fewer, where that leaves more to hold. What does not fit with all lanes nor with
/// one is refused, with what came nearest. So more memory is never slower, and the smallest plan is one for all
/// budgets.
pub(crate) fn best_lanes(
    job: &Job,
    budget: Bytes,
    prepare: impl Fn(&Job) -> Result<Vec<Prepared>, JobError>,
) -> Result<Vec<Prepared>, JobError> {
    let seconds = |all: &[Prepared]| all.iter().map(Prepared::seconds).sum::<f64>();
    let mut best = prepare(job)?;
    let mut fewer: Vec<usize> = job.fewer_lanes().collect();
    if peak(&best) > budget && fewer.pop().is_some() {
        let one = prepare(&job.with_lanes(1))?;
        if peak(&one) > budget {
            return Ok(if peak(&one) < peak(&best) { one } else { best });
        }
        best = one;
    }
    for lanes in fewer {
        // Whatever is held then, this much is left to do.
        let at_least: f64 = best.iter().map(|one| one.seconds_at_least(lanes)).sum();
        if best[0].job.lanes() != lanes && at_least < seconds(&best) {
            let other = prepare(&job.with_lanes(lanes))?;
            let is_better = peak(&other) <= budget && seconds(&other) < seconds(&best);
            best = if is_better { other } else { best };
        }
    }
    Ok(best)
}

/// What all of them take, one after another.
fn peak(all: &[Prepared]) -> Bytes {
    all.iter().map(Prepared::peak).max().unwrap_or_default()
}
