//! What a training loop needs of an executor, planned or eager, and what both loops do with it.

use crate::data::{Elements, Samples};
use crate::{Evaluation, JobError, init};
use plimsoll_exec::{Eager, Executor, ProgramId, StepError};
use plimsoll_graph::{ElementType, Graph, Source, Value, ValueId};
use plimsoll_train::TrainingGraph;
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
    /// Those of a step of which so many before were skipped.
    pub(crate) fn new(number: u64, skipped: u64, learning_rate: f32) -> Self {
        Self { number, step: number as i32, update: number.wrapping_sub(skipped) as i32, learning_rate }
    }
}

/// The samples of a step.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) data: &'a dyn Samples,
    pub(crate) samples: &'a [usize],
}

/// What a step says about itself: the mean loss and the share that was predicted right.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) loss: f32,
    pub(crate) accuracy: Option<f32>,
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
    write_batch(engine, loaded, scalars, batch).map_err(failed)?;
    if let Err(error) = engine.run(program) {
        if !matches!(error, StepError::NotFinite { .. }) {
            return Err(failed(error));
        }
        write_batch(engine, loaded, scalars, batch).map_err(failed)?;
        let first = engine.find_non_finite(program).err().unwrap_or(error);
        return Err(JobError::NotFinite { step: number, first });
    }
    let scalar = |value: ValueId| engine.scalar(program, value);
    let skipped = training.gate.is_some_and(|gate| scalar(gate.finite) == 0.0);
    Ok(Measured { loss: scalar(training.loss), accuracy: training.accuracy.map(scalar), skipped })
}

/// The share of samples that the model predicts right: the largest of its predictions is the label.
pub(crate) fn accuracy(
    engine: &mut impl Engine,
    program: ProgramId,
    evaluation: &Evaluation,
    data: &dyn Samples,
) -> Result<f32, StepError> {
    let Evaluation { batch, input, predictions, .. } = *evaluation;
    let shape = &engine.graph(program).tensor(predictions).shape;
    let (classes, mut predicted) = (shape.last(), vec![0.0; shape.elements()]);
    let mut right = 0;
    for first in (0..data.count()).step_by(batch) {
        engine.begin(program)?;
        for row in 0..batch {
            // The last batch is filled up with its first samples, which are not counted again.
            let index = if first + row < data.count() { first + row } else { first };
            write_sample(engine, program, input, (row, batch), &mut |into| data.write_input(index, into));
        }
        engine.run(program)?;
        engine.read(program, predictions, 0, &mut predicted);
        let rows = predicted.chunks_exact(classes);
        let truth = (first..data.count()).map(|index| label(data, index));
        right += rows.zip(truth).filter(|(row, label)| largest(row) == *label).count();
    }
    Ok(right as f32 / data.count() as f32)
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
    for (row, &index) in batch.samples.iter().enumerate() {
        write_sample(engine, program, training.input, (row, count), &mut |into| {
            data.write_input(index, into)
        });
        write_sample(engine, program, training.targets, (row, count), &mut |into| {
            data.write_target(index, into);
        });
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

fn label(data: &dyn Samples, index: usize) -> usize {
    let mut label = [0];
    data.write_target(index, Elements::I32(&mut label));
    label[0] as usize
}

fn largest(row: &[f32]) -> usize {
    (0..row.len()).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0)
}
