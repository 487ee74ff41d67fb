//! What trainers exchange: the state of a run, out of an executor and back into one, in pieces.
//!
//! Sums of gradients are not part of it: a state is taken between steps, when they mean nothing.

use crate::engine::{self, Engine};
use crate::imported::{self, SavedOptimizer};
use crate::{EagerTrainer, JobError, Trainer};
use plimsoll_exec::ProgramId;
use plimsoll_graph::{Graph, ValueId};
use plimsoll_import::keras::{Keras, KerasError};
use plimsoll_plan::bytes_of;
use plimsoll_state::{Contents, State, StateError, Tensor, each_chunk, pair, verify};
use plimsoll_train::{Descent, Settings, SlotNames, slot};
use std::io;
use std::path::Path;

/// What a state says of updates that were made before its run began.
const BEFORE: &str = "updates_before";

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Steps made.
    pub(crate) step: u64,
    /// Steps that changed nothing.
    pub(crate) skipped: u64,
    /// Updates that Keras had made before the run began.
    pub(crate) before: u64,
    /// How often the data was gone through completely.
    pub(crate) epoch: u64,
    /// Samples drawn since the beginning.
    pub(crate) position: u64,
}

impl Reached {
    /// After a step on so many samples of a data set of `count`.
    pub(crate) fn after(self, step: u64, skipped: bool, samples: usize, count: usize) -> Self {
        let position = self.position + samples as u64;
        // Who numbers steps by hand may begin again; a count does not.
        let step = step.max(self.step + 1);
        let skipped = self.skipped + u64::from(skipped);
        Self { step, skipped, epoch: position / count.max(1) as u64, position, before: self.before }
    }

    /// Averages of weights exist after the first update.
    pub(crate) fn check_average(self, settings: &Settings) -> Result<(), JobError> {
        let none = settings.average.is_some() && self.step == self.skipped && self.before == 0;
        if none { Err(JobError::NoAverage) } else { Ok(()) }
    }
}

/// What is in the tensors of a trainer's state, as long as it makes no step.
pub struct Values<'a>(Box<dyn Contents + 'a>);

impl Contents for Values<'_> {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read(tensor, offset, into)
    }
}

/// A run that a state can be taken from and put into.
pub trait Exchange {
    /// How far the run is and which tensors it has; what is in them is in [`values`](Self::values).
    fn state(&self) -> State;

    /// What is in the tensors of [`state`](Self::state).
    fn values(&self) -> Values<'_>;

    /// Goes on where a state is: weights, what the optimizer remembers, the step, the position in the data and the
    /// seed. A state to which no update was applied may have weights alone. Gives the names of tensors that the model
    /// has no use for.
    ///
    /// A state that does not fit is refused before anything changes; one that cannot be read to its end leaves a
    /// mixture, which another must replace.
    fn restore(&mut self, state: &State, contents: &dyn Contents) -> Result<Vec<String>, StateError>;

    /// Starts from the weights of a file that Keras has saved, if it has some.
    fn read_weights(&mut self, keras: &Keras) -> Result<(), KerasError> {
        if !keras.has_weights() {
            return Ok(());
        }
        let state = State { seed: self.state().seed, ..keras.state() };
        self.restore(&state, keras).map(drop).map_err(keras_error)
    }

    /// Goes on where a file that Keras has saved is: from its weights, and with what its optimizer, which this must be,
    /// remembered, where the file has that.
    fn read_model(&mut self, keras: &Keras, descent: &Descent) -> Result<(), KerasError> {
        let names = SlotNames::of_model(self.graph(), descent);
        let Some(saved) = SavedOptimizer::of(keras, descent, &names).filter(|_| keras.has_weights()) else {
            return self.read_weights(keras);
        };
        let mut state = State { seed: self.state().seed, ..keras.state() };
        let both = Both { first: keras, count: state.tensors.len(), second: &saved };
        state.tensors.extend(saved.tensors.iter().cloned());
        state.extras.insert(BEFORE.to_string(), saved.iterations.to_string());
        self.restore(&state, &both).map(drop).map_err(keras_error)
    }

    /// Writes a model that Keras has saved with the weights as trained so far, so that Keras opens it.
    fn write_weights(&self, keras: &Keras, path: &Path) -> Result<(), KerasError> {
        keras.write(path, &self.state(), &self.values(), &[])
    }

    /// The same with what the optimizer remembers, which was the model's own, so that Keras goes on. Where averages of
    /// weights are kept they become the weights, as at the end of Keras's `fit`.
    fn write_model(&self, keras: &Keras, descent: &Descent, path: &Path) -> Result<(), KerasError> {
        let names = SlotNames::of_model(self.graph(), descent);
        let (state, values) = (with_averages(self.state(), descent, &names), self.values());
        let optimizer = match keras.keeps_optimizer() {
            false => Vec::new(),
            true => {
                let iterations = state.updates + before(&state).unwrap_or(0);
                let known = (iterations, self.learning_rate());
                imported::variables(keras, descent, &names, (&state, &values), known)?
            }
        };
        keras.write(path, &state, &values, &optimizer)
    }

    /// The graph of a whole training step.
    fn graph(&self) -> &Graph;

    /// How far each step goes, where no schedule says otherwise.
    fn learning_rate(&self) -> f32;
}

/// Two lists of tensors as one.
struct Both<'a> {
    first: &'a dyn Contents,
    /// How many the first has.
    count: usize,
    second: &'a dyn Contents,
}

impl Contents for Both<'_> {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match tensor.checked_sub(self.count) {
            None => self.first.read(tensor, offset, into),
            Some(tensor) => self.second.read(tensor, offset, into),
        }
    }
}

/// The same state, in which the averages of weights have their names.
fn with_averages(state: State, descent: &Descent, names: &SlotNames) -> State {
    let mut state = state;
    if descent.settings.average.is_none() {
        return state;
    }
    let averages: Vec<(usize, usize)> = state
        .tensors
        .iter()
        .enumerate()
        .filter_map(|(position, tensor)| {
            let name = names.of(slot::AVERAGE, &tensor.name);
            Some((position, state.tensors.iter().position(|other| other.name == name)?))
        })
        .collect();
    for (parameter, average) in averages {
        let raw = state.tensors[average].name.clone();
        state.tensors[average].name = std::mem::replace(&mut state.tensors[parameter].name, raw);
    }
    state
}

impl Exchange for Trainer {
    fn graph(&self) -> &Graph {
        self.whole_graph()
    }

    fn learning_rate(&self) -> f32 {
        self.run().learning_rate
    }

    fn state(&self) -> State {
        state(self.whole_graph(), self.reached(), self.seed())
    }

    fn values(&self) -> Values<'_> {
        values(self.executor(), self.whole_graph(), &self.programs())
    }

    fn restore(&mut self, state: &State, contents: &dyn Contents) -> Result<Vec<String>, StateError> {
        let (graph, programs) = (self.whole_graph().clone(), self.programs());
        let extra = restore(self.executor_mut(), &graph, &programs, state, contents)?;
        self.go_on(reached(state), state.seed);
        Ok(extra)
    }
}

impl Exchange for EagerTrainer {
    fn graph(&self) -> &Graph {
        self.whole_graph()
    }

    fn learning_rate(&self) -> f32 {
        self.run().learning_rate
    }

    fn state(&self) -> State {
        state(self.whole_graph(), self.reached(), self.seed())
    }

    fn values(&self) -> Values<'_> {
        values(self.eager(), self.whole_graph(), &[self.program()])
    }

    fn restore(&mut self, state: &State, contents: &dyn Contents) -> Result<Vec<String>, StateError> {
        let (graph, programs) = (self.whole_graph().clone(), [self.program()]);
        let extra = restore(self.eager_mut(), &graph, &programs, state, contents)?;
        self.go_on(reached(state), state.seed);
        Ok(extra)
    }
}

/// The state of a run that has not begun.
pub(crate) fn fresh_state(graph: &Graph) -> State {
    state(graph, Reached::default(), 0)
}

fn keras_error(error: StateError) -> KerasError {
    match error {
        StateError::Contents { tensor, error } => {
            KerasError::Weights { path: tensor, problem: error.to_string() }
        }
        other => KerasError::Weights { path: "/".to_string(), problem: other.to_string() },
    }
}

fn reached(state: &State) -> Reached {
    let State { step, updates, epoch, position, .. } = *state;
    Reached { step, skipped: step - updates, epoch, position, before: before(state).unwrap_or(0) }
}

/// Updates that Keras had made before the run began, or that what says so is no number.
fn before(state: &State) -> Result<u64, StateError> {
    let none = |_| StateError::Invalid(format!("{BEFORE} is no number"));
    state.extras.get(BEFORE).map_or(Ok(0), |text| text.parse::<u32>().map(u64::from).map_err(none))
}

fn state(graph: &Graph, reached: Reached, seed: u64) -> State {
    let tensor = |id: ValueId| {
        let value = graph.value(id);
        Tensor { name: value.name.clone(), tensor: value.tensor.clone(), role: value.role }
    };
    let Reached { step, skipped, epoch, position, before } = reached;
    let updates = step - skipped;
    let extras = (before > 0).then(|| (BEFORE.to_string(), before.to_string())).into_iter().collect();
    let model = graph.name().to_string();
    let tensors = graph.persistents().map(tensor).collect();
    State { model, tensors, step, updates, epoch, position, seed, extras }
}

fn values<'a>(engine: &'a impl Engine, graph: &Graph, programs: &[ProgramId]) -> Values<'a> {
    let found = |id| place(engine, programs, &graph.value(id).name);
    Values(Box::new(Placed { engine, places: graph.persistents().map(found).collect() }))
}

/// The persistent values of an executor.
struct Placed<'a, E> {
    engine: &'a E,
    /// In the order of the training graph.
    places: Vec<(ProgramId, ValueId)>,
}

impl<E: Engine> Contents for Placed<'_, E> {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let &(program, value) = self.places.get(tensor).ok_or(io::ErrorKind::NotFound)?;
        let whole = bytes_of(self.engine.graph(program).tensor(value)).0;
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        if offset.checked_add(into.len() as u64).is_none_or(|end| end > whole) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.engine.read_bytes(program, value, start, into);
        Ok(())
    }
}

fn restore(
    engine: &mut impl Engine,
    graph: &Graph,
    programs: &[ProgramId],
    found: &State,
    contents: &dyn Contents,
) -> Result<Vec<String>, StateError> {
    verify(found)?;
    before(found)?;
    let wanted = fresh_state(graph);
    let pairs = pair(&wanted, found)?;
    for (stream, (id, position)) in graph.persistents().zip(pairs.positions).enumerate() {
        let (program, value) = place(engine, programs, &graph.value(id).name);
        let Some(tensor) = position else {
            engine::fill_value(engine, graph.value(id), (program, value), (found.seed, stream as u64));
            continue;
        };
        each_chunk(found, contents, tensor, |offset, bytes| {
            let start = offset as usize;
            let range = start..start + bytes.len();
            engine.write_bytes(program, value, range, &mut |into| into.copy_from_slice(bytes));
            Ok(())
        })?;
    }
    Ok(pairs.extra)
}

/// Where a persistent value of the training graph is.
fn place(engine: &impl Engine, programs: &[ProgramId], name: &str) -> (ProgramId, ValueId) {
    engine::find(engine, programs, name).expect("some program updates it")
}
