//! A case: a file that Keras has saved, a batch, and what is to be done with them; and the answer.

use crate::ways::{self, Way};
use plimsoll::data::{Column, InMemory};
use plimsoll::exec::{Backend as _, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll::graph::{ElementType, Graph, Role, Shape, ValueId};
use plimsoll::import::keras::{self, Keras};
use plimsoll::memory::Device;
use plimsoll::model::Mode;
use plimsoll::plan::{Options, Profile, Residents, plan, verify_arena};
use plimsoll::{Exchange, JobRequest, OpenedJob};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is to be done.
#[derive(Deserialize)]
pub struct Case {
    /// A file that Keras has saved.
    pub file: PathBuf,
    /// How many samples there are, all of which make a batch.
    pub batch: usize,
    /// Inputs, targets and weights of samples.
    pub fields: Vec<Numbers>,
    /// How many steps are made; none if the model has nothing to learn.
    pub steps: u64,
    /// Where the result is written.
    #[serde(default)]
    pub save: Option<PathBuf>,
    /// Whether the ways of making a step are compared with each other.
    #[serde(default)]
    pub ways: bool,
}

/// A field of all samples, one after the other.
#[derive(Deserialize)]
pub struct Numbers {
    kind: String,
    name: String,
    shape: Vec<usize>,
    #[serde(default)]
    floats: Vec<f32>,
    #[serde(default)]
    integers: Vec<i32>,
}

/// What came of it, as far as it came.
#[derive(Default, Serialize)]
pub struct Answer {
    /// `done`, `refused` or `panic`.
    pub outcome: &'static str,
    /// What was refused.
    pub refused: Option<Refused>,
    /// What is said about the file.
    pub notes: Vec<String>,
    /// Elements that are learned, and others.
    pub counts: [usize; 2],
    /// For each output, what the model as saved says.
    pub predictions: Vec<Vec<f32>>,
    /// The loss of all samples before the first step.
    pub evaluated: Option<f32>,
    /// Of each step, before its update.
    pub losses: Vec<f32>,
    /// The same by other ways of making a step.
    pub ways: BTreeMap<&'static str, Way>,
}

/// What was refused.
#[derive(Serialize)]
pub struct Refused {
    /// What was being done.
    pub stage: &'static str,
    /// Why not.
    pub message: String,
    /// What would help.
    pub hint: Option<String>,
}

impl Case {
    /// Does it all; the answer says how far it came.
    pub fn answer(&self, answer: &mut Answer) -> Result<(), Refused> {
        let keras = keras::read(&self.file, None).map_err(at("open"))?;
        keras.check_weights().map_err(at("open"))?;
        answer.notes = keras.notes.iter().map(ToString::to_string).collect();
        answer.counts = counts(&keras);
        answer.predictions = self.predict(&keras)?;
        if self.steps == 0 {
            return Ok(());
        }
        let mut opened = self.open()?;
        let samples = self.samples()?;
        self.weigh(&mut opened);
        let mut trainer = ways::whole(&opened, self.steps)?;
        trainer.read_model(&keras, &opened.job.descent()).map_err(at("weights"))?;
        let test = trainer.evaluate(&samples).map_err(at("evaluate"))?;
        answer.evaluated = Some(test.loss);
        let data = trainer.bind(&samples).map_err(at("data"))?;
        let order: Vec<usize> = (0..self.batch).collect();
        let first = trainer.state().step + 1;
        for step in first..first + self.steps {
            answer.losses.push(trainer.step(step, &data, &order).map_err(at("step"))?.loss);
        }
        if let Some(path) = &self.save {
            trainer.write_model(&keras, &opened.job.descent(), path).map_err(at("save"))?;
        }
        if self.ways {
            ways::compare(&opened, &keras, &samples, &trainer, &mut answer.ways)?;
        }
        Ok(())
    }

    /// The job that the file was compiled for.
    pub fn open(&self) -> Result<OpenedJob, Refused> {
        let model = self.file.to_string_lossy();
        let request = JobRequest { batch: self.batch, threads: Some(1), ..JobRequest::of(model) };
        request.open().map_err(|error| Refused {
            stage: "compile",
            hint: error.hint().map(|hint| format!("{hint:?}")),
            message: error.to_string(),
        })
    }

    /// Samples have weights where the case gives some.
    pub fn weigh(&self, opened: &mut OpenedJob) {
        for head in &mut opened.job.objective.heads {
            let weight = |field: &Numbers| field.kind == "sample_weight" && field.name == head.name;
            head.sample_weights = self.fields.iter().any(weight);
        }
    }

    /// The samples.
    pub fn samples(&self) -> Result<InMemory, Refused> {
        let mut samples = InMemory::new();
        for field in &self.fields {
            let Numbers { kind, name, floats, .. } = field;
            let shape = Shape::new(field.shape.clone());
            samples = match kind.as_str() {
                "input" => samples.input(name, shape, field.column()),
                "target" => samples.target(name, shape, field.column()),
                _ => samples.sample_weight(name, floats.clone()),
            }
            .map_err(at("data"))?;
        }
        Ok(samples)
    }

    /// What the model as saved says about the inputs.
    fn predict(&self, keras: &Keras) -> Result<Vec<Vec<f32>>, Refused> {
        let graph = keras.model.lower(self.batch, Mode::Inference).map_err(at("predict"))?;
        let cpu = CpuBackend::new(1);
        let target = cpu.target(Profile::default());
        let made = plan(&graph, &target, Options::default(), &Residents::default());
        let arena = verify_arena(vec![(graph.clone(), made)], &target).map_err(at("predict"))?;
        let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: true, record: false });
        let mut executor =
            Executor::new(&cpu, arena, &[], &device, graph.name(), settings).map_err(at("predict"))?;
        self.fill(keras, &graph, &mut executor)?;
        executor.run(ProgramId::of(0)).map_err(at("predict"))?;
        Ok(graph.outputs().iter().map(|&output| numbers(&executor, &graph, output)).collect())
    }

    /// Writes the weights of the file and the inputs.
    fn fill(&self, keras: &Keras, graph: &Graph, executor: &mut Executor) -> Result<(), Refused> {
        let program = ProgramId::of(0);
        for (position, weight) in keras.weights.iter().enumerate() {
            let Some(id) = graph.find(&weight.name) else { continue };
            let mut read = vec![0.0; weight.shape.iter().product()];
            keras.read_weight(position, &mut read).map_err(at("weights"))?;
            executor.write_f32(program, id, |into| into.copy_from_slice(&read));
        }
        for id in graph.inputs().collect::<Vec<ValueId>>() {
            let value = graph.value(id);
            let missing = || format!("the model has an input `{}`, which Keras does not know", value.name);
            let named = |field: &&Numbers| field.kind == "input" && field.name == value.name;
            let field = self.fields.iter().find(named).ok_or_else(missing).map_err(at("predict"))?;
            let count = value.tensor.shape.elements();
            match (value.tensor.element, field.column()) {
                (ElementType::I32, Column::I32(column)) if column.len() == count => {
                    executor.write_i32(program, id, |into| into.copy_from_slice(&column));
                }
                (ElementType::F32, Column::F32(column)) if column.len() == count => {
                    executor.write_f32(program, id, |into| into.copy_from_slice(&column));
                }
                (..) => Err(format!("`{}` is {}", value.name, value.tensor)).map_err(at("predict"))?,
            }
        }
        Ok(())
    }
}

impl Numbers {
    fn column(&self) -> Column {
        match self.integers.is_empty() {
            true => Column::F32(self.floats.clone()),
            false => Column::I32(self.integers.clone()),
        }
    }
}

/// A problem at a stage.
pub fn at<E: ToString>(stage: &'static str) -> impl Fn(E) -> Refused {
    move |error| Refused { stage, message: error.to_string(), hint: None }
}

fn counts(keras: &Keras) -> [usize; 2] {
    let tensors = keras.state().tensors;
    let elements = |learned: bool| {
        let chosen = tensors.iter().filter(|tensor| (tensor.role == Role::Parameter) == learned);
        chosen.map(|tensor| tensor.tensor.shape.elements()).sum()
    };
    [elements(true), elements(false)]
}

fn numbers(executor: &Executor, graph: &Graph, value: ValueId) -> Vec<f32> {
    match graph.tensor(value).element {
        ElementType::I32 => {
            let mut bytes = vec![0; 4 * graph.tensor(value).shape.elements()];
            executor.read(ProgramId::of(0), value, 0, &mut bytes);
            let each =
                bytes.chunks_exact(4).map(|four| i32::from_le_bytes([four[0], four[1], four[2], four[3]]));
            each.map(|x| x as f32).collect()
        }
        _ => executor.read_f32(ProgramId::of(0), value),
    }
}
