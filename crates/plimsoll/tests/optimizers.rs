//! Keras's optimizers with their settings, step by step, and runs that go on where Keras's stopped.
//!
//! The cases are made by `optimizers/make_optimizers.py`; others, drawn at random by the same script, are read from the
//! file that `OPTIMIZER_CASES` names. What is saved stays in the folder that `OPTIMIZER_FOLDER` names, where
//! `optimizers/check_saved.py` lets Keras go on from it.

use plimsoll::data::{Column, InMemory};
use plimsoll::graph::Shape;
use plimsoll::import::keras::{self, Keras, Setting};
use plimsoll::memory::Device;
use plimsoll::state::{Contents, State};
use plimsoll::train::{Descent, Loss, Optimizer};
use plimsoll::{
    EagerOptions, EagerTrainer, Exchange, Job, JobRequest, OnShortage, RequestError, Run, Trainer, imported,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const BATCH: usize = 4;

#[derive(Deserialize)]
struct Golden {
    model: Value,
    ids: Vec<Vec<Vec<i32>>>,
    targets: Vec<Vec<f32>>,
    weights: BTreeMap<String, Vec<f32>>,
    cases: Vec<Case>,
    resumed: Vec<Resumed>,
    #[serde(default)]
    constrained: Vec<Constrained>,
}

#[derive(Deserialize)]
struct Constrained {
    model: Value,
    losses: Vec<f32>,
    weights: BTreeMap<String, Vec<f32>>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    optimizer: Value,
    losses: Vec<f32>,
    weights: BTreeMap<String, Vec<f32>>,
}

#[derive(Deserialize)]
struct Resumed {
    file: String,
    losses: Vec<f32>,
    weights: BTreeMap<String, Vec<f32>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/optimizers")
}

fn golden(path: &Path) -> Golden {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Weights in the order of a state.
struct Weights(Vec<Vec<f32>>);

impl Contents for Weights {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        let start = offset as usize / 4;
        let floats = &self.0[tensor][start..start + into.len() / 4];
        into.chunks_exact_mut(4).zip(floats).for_each(|(into, x)| into.copy_from_slice(&x.to_le_bytes()));
        Ok(())
    }
}

impl Golden {
    fn samples(&self, step: usize) -> InMemory {
        let ids: Vec<i32> = self.ids[step % 2].iter().flatten().copied().collect();
        let samples = InMemory::new().input("ids", Shape::new([3]), Column::I32(ids)).unwrap();
        samples.target("out", Shape::new([2]), self.targets[step % 2].clone()).unwrap()
    }

    fn keras(&self) -> Keras {
        keras::from_bytes(serde_json::to_vec(&self.model).unwrap(), None).unwrap()
    }

    /// The state with the first weights.
    fn start(&self, keras: &Keras) -> (State, Weights) {
        let state = keras.state();
        let weights = state.tensors.iter().map(|tensor| self.weights[&tensor.name].clone()).collect();
        (state, Weights(weights))
    }

    fn losses(&self, first: usize, count: usize, mut step: impl FnMut(u64, &InMemory) -> f32) -> Vec<f32> {
        (0..count).map(|step_made| step(step_made as u64 + 1, &self.samples(first + step_made))).collect()
    }
}

fn job(keras: &Keras, descent: &Descent, micro_batches: usize) -> Job {
    Job {
        optimizer: descent.optimizer,
        settings: descent.settings.clone(),
        objective: Loss::MeanSquaredError.into(),
        micro_batches,
        ..Job::new(keras.model.clone(), BATCH).on_threads(2)
    }
}

fn run(steps: usize, learning_rate: f32) -> Run {
    Run { steps: steps as u64, learning_rate, seed: 7, poison: true }
}

fn trainer(job: &Job, run: Run) -> Trainer {
    let prepared = job.prepare().unwrap();
    let device = Device::host(prepared.peak());
    Trainer::new(prepared, &device, run).unwrap()
}

const ORDER: [usize; BATCH] = [0, 1, 2, 3];

fn step(trainer: &mut Trainer, number: u64, samples: &InMemory) -> f32 {
    let data = trainer.bind(samples).unwrap();
    trainer.step(number, &data, &ORDER).unwrap().loss
}

/// Tensors of a state by their names.
fn tensors(trainer: &impl Exchange) -> BTreeMap<String, Vec<f32>> {
    let (state, values) = (trainer.state(), trainer.values());
    let read = |position: usize| {
        let mut bytes = vec![0; state.tensors[position].bytes().0 as usize];
        values.read(position, 0, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect()
    };
    (0..state.tensors.len()).map(|at| (state.tensors[at].name.clone(), read(at))).collect()
}

/// The largest difference, relative to 1 or the wanted number.
fn distance(found: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(found.len(), wanted.len());
    found.iter().zip(wanted).fold(0.0, |worst, (found, wanted)| {
        let far = (found - wanted).abs() / wanted.abs().max(1.0);
        if far > worst || far.is_nan() && !wanted.is_nan() { far } else { worst }
    })
}

fn worst(found: &BTreeMap<String, Vec<f32>>, wanted: &BTreeMap<String, Vec<f32>>) -> f32 {
    let each = wanted.iter().map(|(name, wanted)| distance(&found[name], wanted));
    each.fold(0.0, |worst, far| if far > worst || far.is_nan() { far } else { worst })
}

/// How far a case is from Keras: losses, then weights.
fn compare(golden: &Golden, case: &Case, micro_batches: usize) -> [f32; 2] {
    let (descent, rate) = imported::optimizer(&Setting::of(&case.optimizer)).expect(&case.name);
    let keras = golden.keras();
    let mut trainer = trainer(&job(&keras, &descent, micro_batches), run(case.losses.len(), rate));
    let (state, weights) = golden.start(&keras);
    trainer.restore(&state, &weights).unwrap();
    let losses = golden.losses(0, case.losses.len(), |number, samples| step(&mut trainer, number, samples));
    [distance(&losses, &case.losses), worst(&tensors(&trainer), &case.weights)]
}

#[test]
fn every_optimizer_with_every_setting_is_keras_s() {
    let random = std::env::var_os("OPTIMIZER_CASES").map(PathBuf::from);
    let golden = golden(&random.unwrap_or(folder().join("cases.json")));
    let mut far = Vec::new();
    for case in &golden.cases {
        for micro_batches in [1, 3] {
            let [losses, weights] = compare(&golden, case, micro_batches);
            // Steps divided by their own size carry rounding into the weights; so do signs.
            if !(losses <= 2e-5 && weights <= 5e-5) {
                far.push(format!("{} in {micro_batches}: losses {losses:e}, weights {weights:e}", case.name));
            }
        }
    }
    assert!(far.is_empty(), "{} of {}:\n{}", far.len(), golden.cases.len(), far.join("\n"));
}

#[test]
fn runs_go_on_where_keras_stopped_and_keras_s_files_come_back() {
    let golden = golden(&folder().join("cases.json"));
    for case in &golden.resumed {
        let keras = keras::read(&folder().join("files").join(&case.file), None).unwrap();
        let (descent, rate) = imported::optimizer(keras.compiled.optimizer.as_ref().unwrap()).unwrap();
        let job = job(&keras, &descent, 1);
        let mut first = trainer(&job, run(3, rate));
        first.read_model(&keras, &descent).unwrap();
        // What was read is what is written.
        let kept = std::env::var_os("OPTIMIZER_FOLDER").map(PathBuf::from);
        let name = format!("plimsoll-{}-{}", std::process::id(), case.file);
        let path = kept.as_ref().map_or(std::env::temp_dir().join(name), |folder| folder.join(&case.file));
        first.write_model(&keras, &descent, &path).unwrap();
        let copy = keras::read(&path, None).unwrap();
        assert_eq!(copy.optimizer_variables(), keras.optimizer_variables(), "{}", case.file);
        let mut second = trainer(&job, run(3, rate));
        second.read_model(&copy, &descent).unwrap();
        if descent.settings.average.is_none() {
            assert_eq!(tensors(&second), tensors(&first), "{}", case.file);
        }
        if kept.is_none() {
            std::fs::remove_file(path).unwrap();
        }
        let losses = golden.losses(3, 3, |number, samples| step(&mut first, number, samples));
        let far = [distance(&losses, &case.losses), worst(&tensors(&first), &case.weights)];
        assert!(far[0] <= 2e-5 && far[1] <= 5e-5, "{}: {far:?}", case.file);
        assert_eq!(first.state().extras["updates_before"], "3");
    }
    // A legacy file has the same in another form.
    let [new, old] = ["adam.keras", "adam.h5"].map(|file| {
        let keras = keras::read(&folder().join("files").join(file), None).unwrap();
        let (descent, rate) = imported::optimizer(keras.compiled.optimizer.as_ref().unwrap()).unwrap();
        let mut trainer = trainer(&job(&keras, &descent, 1), run(3, rate));
        trainer.read_model(&keras, &descent).unwrap();
        tensors(&trainer)
    });
    assert_eq!(new, old);
}

#[test]
fn weights_are_constrained_as_in_keras() {
    let golden = golden(&folder().join("cases.json"));
    assert!(!golden.constrained.is_empty());
    for case in &golden.constrained {
        let keras = keras::from_bytes(serde_json::to_vec(&case.model).unwrap(), None).unwrap();
        let mut descent = Descent::from(Optimizer::Nesterov { momentum: 0.5 });
        descent.settings.constraints = keras.constraints.clone();
        for micro_batches in [1, 2] {
            let mut trainer = trainer(&job(&keras, &descent, micro_batches), run(6, 0.1));
            let (state, weights) = golden.start(&keras);
            trainer.restore(&state, &weights).unwrap();
            let losses = golden.losses(0, 6, |number, samples| step(&mut trainer, number, samples));
            let far = [distance(&losses, &case.losses), worst(&tensors(&trainer), &case.weights)];
            assert!(far[0] <= 2e-5 && far[1] <= 5e-5, "{:?}: {far:?}", keras.constraints);
        }
    }
}

#[test]
fn inspect_shows_files_whose_loss_and_optimizer_are_not_known() {
    let mut model = golden(&folder().join("cases.json")).model;
    let mine =
        |name: &str| json!({"class_name": name, "config": {}, "registered_name": format!("me>{name}")});
    model["compile_config"] = json!({"optimizer": mine("SGD"), "loss": mine("MyLoss")});
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("mine.json");
    std::fs::write(&path, model.to_string()).unwrap();
    let request = JobRequest::of(path.to_str().unwrap());
    assert!(matches!(request.open(), Err(RequestError::CompiledLoss(_))));
    let report = request.inspect(None).unwrap();
    let said: Vec<String> = report.notes.iter().map(ToString::to_string).collect();
    for (unknown, instead) in
        [("sgd of somebody's own", "adam"), ("my_loss of somebody's own", "mean_squared_error")]
    {
        assert!(said.iter().any(|note| note.contains(unknown) && note.contains(instead)), "{said:?}");
    }
}

/// A state taken in the middle and put into another trainer, planned or eager, gives the same bits.
#[test]
fn states_hold_everything_that_optimizers_remember() {
    let golden = golden(&folder().join("cases.json"));
    let names = [
        "nadam plain",
        "adafactor plain",
        "muon plain",
        "ema of gathered",
        "loss scale overflow",
        "lamb ema",
    ];
    let cases: Vec<&Case> = golden.cases.iter().filter(|case| names.contains(&case.name.as_str())).collect();
    assert_eq!(cases.len(), names.len());
    for case in cases {
        let (descent, rate) = imported::optimizer(&Setting::of(&case.optimizer)).unwrap();
        let keras = golden.keras();
        let (job, (state, weights)) = (job(&keras, &descent, 1), golden.start(&keras));
        let mut whole = trainer(&job, run(6, rate));
        whole.restore(&state, &weights).unwrap();
        golden.losses(0, 6, |number, samples| step(&mut whole, number, samples));
        let mut half = trainer(&job, run(6, rate));
        half.restore(&state, &weights).unwrap();
        golden.losses(0, 3, |number, samples| step(&mut half, number, samples));
        let options = EagerOptions {
            allocator: Box::new(|| plimsoll::memory::by_name("bfc", &Default::default()).unwrap()),
            on_shortage: OnShortage::Stop,
        };
        let device = Device::host(plimsoll::Bytes::mib(64));
        let mut eager =
            EagerTrainer::new(vec![job.prepare().unwrap()], &device, run(6, rate), options).unwrap();
        eager.restore(&half.state(), &half.values()).unwrap();
        for made in 3..6 {
            let samples = golden.samples(made);
            let data = eager.bind(&samples).unwrap();
            eager.step(made as u64 + 1, &data, &ORDER).unwrap();
        }
        assert_eq!(tensors(&eager), tensors(&whole), "{}", case.name);
    }
}
