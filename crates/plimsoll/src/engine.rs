//! What a training loop needs of an executor, planned or eager, and what both loops do with it.

use crate::accuracy::RightOnes;
use crate::data::{Bound, Elements, Wanted};
use crate::exchange::Reached;
use crate::{Evaluation, HeadScore, JobError, Run, Scores, init};
use plimsoll_exec::{Eager, Executor, ProgramId, StepError};
use plimsoll_graph::{ElementType, Graph, Source, Value, ValueId};
use plimsoll_train::{EvaluationGraph, HeadValues, Settings, TrainingGraph};
use std::ops::Range;

/// Runs programs whose values can be written and read.
pub(crate) trait Engine {
    /// The graph of a program.
    fn graph(&self, program: ProgramId) -> &Graph;
    /// Makes place for the inputs.
    fn begin(&mut self, program: ProgramId) -> Result<(), StepError>;
    /// Runs it once.
    fn run(&mut self, program: ProgramId) -> Result<(), StepError>;
    /// Names the first value of the forward pass that is not finite.
    fn find_non_finite(&mut self, program: ProgramId) -> Result<(), StepError>;
    /// Lets bytes of a value be filled, all of them: what is found there is undefined.
    fn write_bytes(
        &mut self,
        program: ProgramId,
        value: ValueId,
        bytes: Range<usize>,
        fill: &mut dyn FnMut(&mut [u8]),
    );
    /// Copies bytes of a value out.
    fn read_bytes(&self, program: ProgramId, value: ValueId, from: usize, into: &mut [u8]);

    /// Lets elements of a float32 or int32 value be filled, all of them: what is found there is undefined.
    fn write(
        &mut self,
        program: ProgramId,
        value: ValueId,
        elements: Range<usize>,
        fill: &mut dyn FnMut(Elements<'_>),
    ) {
        let element = self.graph(program).tensor(value).element;
        let bytes = 4 * elements.start..4 * elements.end;
        self.write_bytes(program, value, bytes, &mut |bytes| match element {
            ElementType::F32 => fill(Elements::F32(bytemuck::cast_slice_mut(bytes))),
            ElementType::I32 => fill(Elements::I32(bytemuck::cast_slice_mut(bytes))),
            ElementType::F16 | ElementType::Bf16 => unreachable!("callers write float32 and int32"),
        });
    }

    /// The same for all elements of a value.
    fn write_all(&mut self, program: ProgramId, value: ValueId, fill: &mut dyn FnMut(Elements<'_>)) {
        let elements = self.graph(program).tensor(value).shape.elements();
        self.write(program, value, 0..elements, fill);
    }

    /// Gives every element of a value the same number.
    fn fill(&mut self, program: ProgramId, value: ValueId, number: Number) {
        self.write_all(program, value, &mut |elements| match (elements, number) {
            (Elements::F32(elements), Number::F32(number)) => elements.fill(number),
            (Elements::I32(elements), Number::I32(number)) => elements.fill(number),
            _ => unreachable!("the number is of the value's type"),
        });
    }

    /// Copies elements of a float32 value out.
    fn read(&self, program: ProgramId, value: ValueId, from: usize, into: &mut [f32]) {
        assert_eq!(self.graph(program).tensor(value).element, ElementType::F32);
        self.read_bytes(program, value, 4 * from, bytemuck::cast_slice_mut(into));
    }

    /// The only element of a float32 value.
    fn scalar(&self, program: ProgramId, value: ValueId) -> f32 {
        let mut element = [0.0];
        self.read(program, value, 0, &mut element);
        element[0]
    }
}

/// An element.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    F32(f32),
    I32(i32),
}

/// Both executors have these methods already; only the planned one has its inputs in place from the start.
macro_rules! engine {
    ($executor:ty, $begin:expr) => {
        impl Engine for $executor {
            fn graph(&self, program: ProgramId) -> &Graph {
                self.graph(program)
            }

            fn begin(&mut self, program: ProgramId) -> Result<(), StepError> {
                $begin(self, program)
            }

            fn run(&mut self, program: ProgramId) -> Result<(), StepError> {
                self.run(program)
            }

            fn find_non_finite(&mut self, program: ProgramId) -> Result<(), StepError> {
                self.find_non_finite(program)
            }

            fn write_bytes(
                &mut self,
                program: ProgramId,
                value: ValueId,
                bytes: Range<usize>,
                fill: &mut dyn FnMut(&mut [u8]),
            ) {
                self.write(program, value, bytes, fill);
            }

            fn read_bytes(&self, program: ProgramId, value: ValueId, from: usize, into: &mut [u8]) {
                self.read(program, value, from, into);
            }
        }
    };
}

engine!(Executor, |_: &mut Executor, _| Ok(()));
engine!(Eager, Eager::begin);

/// A training graph that an executor has loaded.
#[derive(Clone, Copy)]
pub(crate) struct Loaded<'a> {
    pub(crate) training: &'a TrainingGraph,
    pub(crate) program: ProgramId,
}

/// What a step reads besides samples.
#[derive(Clone, Copy)]
pub(crate) struct Scalars {
    /// What the step is called in reports.
    pub(crate) number: u64,
    /// What the graph is told.
    pub(crate) step: i32,
    /// The number of the update, without those that were skipped.
    pub(crate) update: i32,
    pub(crate) learning_rate: f32,
}

impl Scalars {
    /// Those of a step of a run that has come so far.
    pub(crate) fn new(number: u64, reached: Reached, run: &Run, settings: &Settings) -> Self {
        let step = reached.before.wrapping_add(number);
        let update = step.wrapping_sub(reached.skipped);
        let learning_rate = match &settings.schedule {
            Some(schedule) => schedule.at(update.saturating_sub(1)),
            None => run.learning_rate,
        };
        Self { number, step: step as i32, update: update as i32, learning_rate }
    }
}

/// The samples of a step.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) data: &'a Bound<'a>,
    /// How many samples were drawn before.
    pub(crate) position: u64,
    pub(crate) samples: &'a [usize],
}

/// What a step says about itself.
pub(crate) struct Measured {
    pub(crate) scores: Scores,
    /// Whether nothing was updated, because something was not finite.
    pub(crate) skipped: bool,
}

/// The first of some programs that has a value of this name, and the value there. Persistent values of one name have
/// the same bytes in all of them.
pub(crate) fn find(engine: &impl Engine, programs: &[ProgramId], name: &str) -> Option<(ProgramId, ValueId)> {
    programs.iter().find_map(|&program| Some((program, engine.graph(program).find(name)?)))
}

/// Fills in the first weights of a training graph, each in the first program that has it.
pub(crate) fn fill_persistent(engine: &mut impl Engine, graph: &Graph, programs: &[ProgramId], seed: u64) {
    for (stream, id) in graph.persistents().enumerate() {
        let place = find(engine, programs, &graph.value(id).name).expect("some program updates it");
        fill_value(engine, graph.value(id), place, (seed, stream as u64));
    }
}

/// Fills in how a persistent value starts; `stream` is its number among those of the training graph.
pub(crate) fn fill_value(
    engine: &mut impl Engine,
    value: &Value,
    (program, id): (ProgramId, ValueId),
    (seed, stream): (u64, u64),
) {
    let Source::Persistent(init) = value.source else { return };
    engine.write_all(program, id, &mut |elements| match elements {
        Elements::F32(into) => init::fill(init, &value.tensor.shape, seed, stream, into),
        Elements::I32(into) => into.fill(0),
    });
}

/// One step on the given samples. What first went wrong in one whose loss or gradient is not finite is looked for.
pub(crate) fn step(
    engine: &mut impl Engine,
    loaded: Loaded<'_>,
    scalars: Scalars,
    batch: Batch<'_>,
) -> Result<Measured, JobError> {
    let Loaded { training, program } = loaded;
    let number = scalars.number;
    let failed = |error: StepError| JobError::Step { step: number, error };
    batch.data.ready(batch.position, batch.samples)?;
    write_batch(engine, loaded, scalars, batch).map_err(failed)?;
    if let Err(error) = engine.run(program) {
        if !matches!(error, StepError::NotFinite { .. }) {
            return Err(failed(error));
        }
        write_batch(engine, loaded, scalars, batch).map_err(failed)?;
        let first = engine.find_non_finite(program).err().unwrap_or(error);
        return Err(JobError::NotFinite { step: number, first });
    }
    let skipped = training.gate.is_some_and(|gate| engine.scalar(program, gate.finite) == 0.0);
    Ok(Measured { scores: scores(engine, program, training.loss, &training.heads), skipped })
}

/// The losses of all samples and the share that is predicted right, as the model is after a step.
pub(crate) fn evaluate(
    engine: &mut impl Engine,
    program: ProgramId,
    evaluation: &Evaluation,
    data: &Bound<'_>,
    step: u64,
) -> Result<Scores, JobError> {
    let Evaluation { batch, judging, .. } = evaluation;
    let failed = |error: StepError| JobError::Step { step, error };
    let mut sum = Scores::zero(&judging.heads);
    let mut right: Vec<Option<RightOnes>> = right_ones(judging);
    data.announce(None, 0..data.count() as u64);
    for first in (0..data.count()).step_by(*batch) {
        let rows = (data.count() - first).min(*batch);
        let samples: Vec<usize> = (first..first + rows).collect();
        data.ready(first as u64, &samples)?;
        write_judged(engine, program, judging, (first, rows, *batch), data).map_err(failed)?;
        engine.run(program).map_err(failed)?;
        let masks: Vec<Option<Vec<f32>>> =
            judging.heads.iter().map(|head| head.mask.map(|mask| read_all(engine, program, mask))).collect();
        let mut part = scores(engine, program, judging.loss, &judging.heads);
        leave_out_filling(&mut part, judging, &masks, (rows, *batch));
        part.loss += penalty(engine, program, judging, rows) / *batch as f32;
        // Rows that fill up the batch have the weight 0, but are counted in its mean.
        sum.add(&part, *batch as f32 / data.count() as f32);
        for ((head, ones), mask) in judging.heads.iter().zip(&mut right).zip(&masks) {
            let Some(ones) = ones else { continue };
            let classes = engine.graph(program).tensor(head.predictions).shape.last();
            let predictions = read_all(engine, program, head.predictions);
            let each = predictions.len() / batch;
            for (row, predictions) in predictions.chunks_exact(each).take(rows).enumerate() {
                let mask = mask.as_ref().map(|mask| &mask[row * mask.len() / batch..]);
                ones.look_at(predictions, mask, classes, data, first + row);
            }
        }
    }
    data.rest();
    for (head, ones) in sum.heads.iter_mut().zip(right) {
        head.accuracy = ones.map(|ones| ones.share());
    }
    Ok(sum)
}

/// Corrects losses over what is not padding, where the rows that fill up the batch were counted, too, and those that
/// are not divided by the number of rows. As in Keras, a batch counts by its samples, not by what of them is padding.
fn leave_out_filling(
    part: &mut Scores,
    judging: &EvaluationGraph,
    masks: &[Option<Vec<f32>>],
    (rows, batch): (usize, usize),
) {
    let share = rows as f32 / batch as f32;
    for ((score, head), mask) in part.heads.iter_mut().zip(&judging.heads).zip(masks) {
        let factor = match mask {
            _ if head.whole => share,
            None => continue,
            Some(mask) => {
                let counted: f32 = mask.iter().sum();
                let real: f32 = mask[..mask.len() / batch * rows].iter().sum();
                if real > 0.0 { counted / real * share } else { 0.0 }
            }
        };
        part.loss += head.weight * score.loss * (factor - 1.0);
        score.loss *= factor;
    }
}

/// What a model adds to the loss of so many samples, as a sum over them: filling does not count.
fn penalty(engine: &impl Engine, program: ProgramId, judging: &EvaluationGraph, rows: usize) -> f32 {
    let of_all = judging.added.of_all.map_or(0.0, |value| engine.scalar(program, value));
    let of_samples = judging.added.of_samples.map(|value| read_all(engine, program, value));
    of_all * rows as f32 + of_samples.map_or(0.0, |each| each[..rows].iter().sum())
}

fn read_all(engine: &impl Engine, program: ProgramId, value: ValueId) -> Vec<f32> {
    let mut elements = vec![0.0; engine.graph(program).tensor(value).shape.elements()];
    engine.read(program, value, 0, &mut elements);
    elements
}

fn scores(engine: &impl Engine, program: ProgramId, loss: ValueId, heads: &[HeadValues]) -> Scores {
    let scalar = |value: ValueId| engine.scalar(program, value);
    let head = |head: &HeadValues| HeadScore {
        output: head.output.clone(),
        loss: scalar(head.loss),
        accuracy: head.accuracy.map(scalar),
    };
    Scores { loss: scalar(loss), heads: heads.iter().map(head).collect() }
}

/// For each head that has classes, what counts its right predictions.
fn right_ones(judging: &EvaluationGraph) -> Vec<Option<RightOnes>> {
    let graph = &judging.graph;
    let ones = |(position, head): (usize, &HeadValues)| {
        // A slot for each input, then two for each head: see `Wanted::values`.
        let slot = judging.inputs.len() + 2 * position;
        let targets = &graph.tensor(head.targets).shape;
        let each = targets.elements() / targets[0];
        head.judged.map(|op| RightOnes::new(op, slot, each))
    };
    judging.heads.iter().enumerate().map(ones).collect()
}

/// Writes `rows` samples from the first on, and fills the batch up with the first at the weight 0.
fn write_judged(
    engine: &mut impl Engine,
    program: ProgramId,
    judging: &EvaluationGraph,
    (first, rows, batch): (usize, usize, usize),
    data: &Bound<'_>,
) -> Result<(), StepError> {
    engine.begin(program)?;
    for (slot, value) in Wanted::values(&judging.inputs, &judging.heads).enumerate() {
        for row in 0..batch {
            let sample = if row < rows { first + row } else { first };
            write_sample(engine, program, value, (row, batch), &mut |into| data.write(slot, sample, into));
        }
    }
    let mut fill = |value: ValueId, range: Range<usize>, number: f32| {
        engine.write(program, value, range, &mut |into| match into {
            Elements::F32(into) => into.fill(number),
            Elements::I32(_) => unreachable!("weights are float32"),
        });
    };
    for head in &judging.heads {
        head.sample_weights.iter().for_each(|&weights| fill(weights, rows..batch, 0.0));
        if let Some(real) = head.real {
            fill(real, 0..rows, 1.0);
            fill(real, rows..batch, 0.0);
        }
    }
    Ok(())
}

fn write_batch(
    engine: &mut impl Engine,
    loaded: Loaded<'_>,
    scalars: Scalars,
    batch: Batch<'_>,
) -> Result<(), StepError> {
    let (training, program, data) = (loaded.training, loaded.program, batch.data);
    engine.begin(program)?;
    engine.fill(program, training.step, Number::I32(scalars.step));
    if let Some(updates) = training.gate.and_then(|gate| gate.updates) {
        engine.fill(program, updates, Number::I32(scalars.update));
    }
    engine.fill(program, training.learning_rate, Number::F32(scalars.learning_rate));
    let count = batch.samples.len();
    for (slot, value) in Wanted::values(&training.inputs, &training.heads).enumerate() {
        for (row, &sample) in batch.samples.iter().enumerate() {
            write_sample(engine, program, value, (row, count), &mut |into| data.write(slot, sample, into));
        }
    }
    Ok(())
}

/// Lets a sample be written into its row of a batch.
fn write_sample(
    engine: &mut impl Engine,
    program: ProgramId,
    value: ValueId,
    (row, batch): (usize, usize),
    write: &mut dyn FnMut(Elements<'_>),
) {
    let length = engine.graph(program).tensor(value).shape.elements() / batch;
    engine.write(program, value, row * length..(row + 1) * length, write);
}
