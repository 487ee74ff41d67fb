//! A step in parts: the gradients of smaller batches are added up and applied at once, so that no sample is lost and
//! the step is the same as a whole one, except for rounding. (Where samples of a batch see each other, as with batch
//! normalization, it is not.)

use crate::engine::{self, Batch, Engine, Loaded, Measured, Number, Scalars};
use crate::{JobError, Scores};
use plimsoll_exec::{ProgramId, StepError};
use plimsoll_graph::ValueId;
use plimsoll_train::{ApplyingGraph, Gate, accumulators};

/// How far the step numbers that dropout's masks depend on are apart in the parts of a step, so that not all drop the
/// same.
const STEP_STRIDE: i32 = 1 << 20;

/// An applying graph that an executor has loaded.
#[derive(Clone, Copy)]
pub(crate) struct LoadedUpdates<'a> {
    pub(crate) graph: &'a ApplyingGraph,
    pub(crate) program: ProgramId,
}

/// One step in parts of the given sizes; `part` gives the accumulating graph for a number of rows.
pub(crate) fn step<'a>(
    engine: &mut impl Engine,
    sizes: &[usize],
    part: impl Fn(usize) -> Loaded<'a>,
    updates: LoadedUpdates<'_>,
    scalars: Scalars,
    batch: Batch<'_>,
) -> Result<Measured, JobError> {
    let total = batch.samples.len();
    clear(engine, part(sizes[0]));
    let mut sum = Scores::zero(&part(sizes[0]).training.heads);
    let (mut samples, mut first) = (batch.samples, 0);
    for (number, &rows) in sizes.iter().enumerate() {
        let (now, later) = samples.split_at(rows);
        samples = later;
        let weight = rows as f32 / total as f32;
        let step = scalars.step.wrapping_add(STEP_STRIDE.wrapping_mul(number as i32));
        let scalars = Scalars { step, learning_rate: -weight, ..scalars };
        let position = batch.position + first as u64;
        first += rows;
        let batch = Batch { samples: now, position, ..batch };
        let measured = engine::step(engine, part(rows), scalars, batch)?;
        sum.add(&measured.scores, weight);
    }
    let failed = |error| JobError::Step { step: scalars.number, error };
    apply(engine, updates, scalars).map_err(failed)?;
    let finite = |gate: Gate| engine.scalar(updates.program, gate.finite);
    let skipped = updates.graph.gate.is_some_and(|gate| finite(gate) == 0.0);
    Ok(Measured { scores: sum, skipped })
}

/// Sets the sums to zero.
fn clear(engine: &mut impl Engine, Loaded { training, program }: Loaded<'_>) {
    let all: Vec<ValueId> = accumulators(&training.graph).collect();
    all.into_iter().for_each(|id| engine.fill(program, id, Number::F32(0.0)));
}

/// Updates all parameters from what was added up.
fn apply(
    engine: &mut impl Engine,
    LoadedUpdates { graph, program }: LoadedUpdates<'_>,
    scalars: Scalars,
) -> Result<(), StepError> {
    engine.begin(program)?;
    engine.fill(program, graph.step, Number::I32(scalars.update));
    engine.fill(program, graph.learning_rate, Number::F32(scalars.learning_rate));
    engine.run(program)
}

/// The most parts a batch is cut into: beyond it a step takes so long that a smaller batch is meant.
pub const MOST_MICRO_BATCHES: usize = 4096;

/// So many parts whose sizes differ by one at most, larger ones first.
pub(crate) fn sizes(total: usize, count: usize) -> Vec<usize> {
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
