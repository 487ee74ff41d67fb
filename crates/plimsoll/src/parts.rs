//! A step in parts: the gradients of smaller batches are added up and applied at once, so that no sample is lost and the step is the
//! same as a whole one, except for rounding. (Where samples of a batch see each other, as with batch normalization, it is not.)

use crate::engine::{self, Batch, Loaded, Measured, Scalars};
use crate::{Job, JobError, Prepared};
use plimsoll_exec::eager::Updates;
use plimsoll_exec::{Eager, ProgramId, StepError};
use plimsoll_graph::ValueId;
use plimsoll_model::Mode;
use plimsoll_train::{ApplyingGraph, TrainingGraph, accumulating_graph, accumulators, applying_graph};
use std::collections::HashMap;

/// How far the step numbers that dropout's masks depend on are apart in the parts of a step, so that not all drop the same.
const STEP_STRIDE: i32 = 1 << 20;

/// The graphs of steps in parts, loaded when they are first needed.
#[derive(Default)]
pub(crate) struct Parts {
    /// By the position among the lengths and the rows of a part.
    graphs: HashMap<(usize, usize), (TrainingGraph, ProgramId)>,
    apply: Option<(ApplyingGraph, ProgramId)>,
}

impl Parts {
    /// One step in so many parts; `variant` is the position of what was prepared among the lengths.
    pub(crate) fn step(
        &mut self,
        eager: &mut Eager,
        (variant, prepared): (usize, &Prepared),
        scalars: Scalars,
        batch: Batch<'_>,
        count: usize,
    ) -> Result<Measured, JobError> {
        let total = batch.samples.len();
        let sizes = sizes(total, count);
        let failed = |error| JobError::Step { step: scalars.number, error };
        for &rows in &sizes {
            self.load(eager, (variant, rows), &prepared.job, failed)?;
        }
        clear(eager, &self.graphs[&(variant, sizes[0])]);
        let mut sum = Measured { loss: 0.0, accuracy: prepared.training.accuracy.map(|_| 0.0) };
        let mut samples = batch.samples;
        for (part, &rows) in sizes.iter().enumerate() {
            let (training, program) = &self.graphs[&(variant, rows)];
            let (now, later) = samples.split_at(rows);
            samples = later;
            let weight = rows as f32 / total as f32;
            let step = scalars.step.wrapping_add(STEP_STRIDE.wrapping_mul(part as i32));
            let scalars = Scalars { step, learning_rate: -weight, ..scalars };
            let loaded = Loaded { training, program: *program };
            let measured = engine::step(eager, loaded, scalars, Batch { samples: now, ..batch })?;
            sum.loss += weight * measured.loss;
            sum.accuracy = sum.accuracy.zip(measured.accuracy).map(|(sum, share)| sum + weight * share);
        }
        self.apply(eager, prepared, scalars, failed)?;
        Ok(sum)
    }

    fn load(
        &mut self,
        eager: &mut Eager,
        key: (usize, usize),
        job: &Job,
        failed: impl Fn(StepError) -> JobError,
    ) -> Result<(), JobError> {
        if self.graphs.contains_key(&key) {
            return Ok(());
        }
        let training = accumulating_graph(job.model.lower(key.1, Mode::Training)?, job.loss)?;
        // A part that fails leaves nothing but half a sum, so its gradients may be added up and freed early.
        let loaded = eager.load_with(training.graph.clone(), &[training.loss], Updates::WhenReady);
        self.graphs.insert(key, (training, loaded.map_err(failed)?));
        Ok(())
    }

    /// Updates all parameters from what was added up.
    fn apply(
        &mut self,
        eager: &mut Eager,
        prepared: &Prepared,
        scalars: Scalars,
        failed: impl Fn(StepError) -> JobError,
    ) -> Result<(), JobError> {
        if self.apply.is_none() {
            let graph = applying_graph(&prepared.training)?;
            let program = eager.load(graph.graph.clone(), &[]).map_err(&failed)?;
            self.apply = Some((graph, program));
        }
        let (graph, program) = self.apply.as_ref().expect("it was just loaded");
        eager.begin(*program).map_err(&failed)?;
        eager.i32_mut(*program, graph.step).fill(scalars.step);
        eager.f32_mut(*program, graph.learning_rate).fill(scalars.learning_rate);
        eager.run(*program).map_err(failed)
    }
}

/// Sets the sums to zero.
fn clear(eager: &mut Eager, (training, program): &(TrainingGraph, ProgramId)) {
    let all: Vec<ValueId> = accumulators(&training.graph).collect();
    all.into_iter().for_each(|id| eager.f32_mut(*program, id).fill(0.0));
}

/// So many parts whose sizes differ by one at most, larger ones first.
fn sizes(total: usize, count: usize) -> Vec<usize> {
    let (least, more) = (total / count, total % count);
    (0..count).map(|part| least + usize::from(part < more)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_nearly_equal_and_complete() {
        assert_eq!(sizes(8, 4), [2, 2, 2, 2]);
        assert_eq!(sizes(10, 4), [3, 3, 2, 2]);
        assert_eq!(sizes(3, 3), [1, 1, 1]);
    }
}
