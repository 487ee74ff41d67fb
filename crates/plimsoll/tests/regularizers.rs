//! What regularizers add to losses, step by step and in an evaluation, as in Keras.
//!
//! The cases are made by `regularizers/make_regularizers.py`; others, drawn at random by the same script, are read from
//! the file that `REGULARIZER_CASES` names.

use plimsoll::data::{Column, InMemory};
use plimsoll::graph::Shape;
use plimsoll::import::keras::{self, Keras};
use plimsoll::memory::Device;
use plimsoll::state::Contents;
use plimsoll::train::{Loss, Objective, Optimizer};
use plimsoll::{Exchange, Job, Run, Trainer};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const BATCH: usize = 4;

#[derive(Deserialize)]
struct Case {
    name: String,
    model: Value,
    /// Whether the samples of a batch see each other, so that it stays whole.
    whole: bool,
    loss_weights: Option<Vec<f32>>,
    inputs: Vec<Tensor>,
    targets: Vec<Tensor>,
    /// Weights by their places in a file.
    before: BTreeMap<String, Vec<f32>>,
    after: BTreeMap<String, Vec<f32>>,
    losses: Vec<f32>,
    evaluated: f32,
}

#[derive(Deserialize)]
struct Tensor {
    name: String,
    shape: Vec<usize>,
    #[serde(default)]
    ids: bool,
    values: Vec<f32>,
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

impl Case {
    fn samples(&self, outputs: &[String]) -> InMemory {
        let mut samples = InMemory::new();
        for Tensor { name, shape, ids, values } in &self.inputs {
            let column = match ids {
                true => Column::I32(values.iter().map(|&x| x as i32).collect()),
                false => Column::F32(values.clone()),
            };
            samples = samples.input(name, Shape::new(&shape[..]), column).unwrap();
        }
        for (Tensor { shape, values, .. }, output) in self.targets.iter().zip(outputs) {
            samples = samples.target(output, Shape::new(&shape[..]), values.clone()).unwrap();
        }
        samples
    }

    fn job(&self, keras: &Keras, micro_batches: usize) -> Job {
        let names: Vec<String> = keras.model.output_names().map(str::to_string).collect();
        let mut objective = Objective::everywhere(names, Loss::MeanSquaredError);
        for (head, &weight) in objective.heads.iter_mut().zip(self.loss_weights.iter().flatten()) {
            head.weight = weight;
        }
        let optimizer = Optimizer::Momentum { momentum: 0.5 };
        Job { optimizer, objective, micro_batches, ..Job::new(keras.model.clone(), BATCH).on_threads(2) }
    }

    /// How far the losses, the evaluation and the weights are from Keras's.
    fn distances(&self, micro_batches: usize) -> [f32; 3] {
        let keras = keras::from_bytes(serde_json::to_vec(&self.model).unwrap(), None).expect(&self.name);
        let prepared = self.job(&keras, micro_batches).prepare().expect(&self.name);
        let device = Device::host(prepared.peak());
        let run = Run { steps: self.losses.len() as u64, learning_rate: 0.05, seed: 7, poison: true };
        let mut trainer = Trainer::new(prepared, &device, run).unwrap();
        let first = |path: &str| self.before.get(path).unwrap_or_else(|| panic!("{}: {path}", self.name));
        let before = keras.weights.iter().map(|weight| first(&weight.path).clone()).collect();
        trainer.restore(&keras.state(), &Weights(before)).unwrap();
        let outputs: Vec<String> = keras.model.output_names().map(str::to_string).collect();
        let samples = self.samples(&outputs);
        let losses: Vec<f32> = (1..=run.steps)
            .map(|step| {
                let data = trainer.bind(&samples).unwrap();
                trainer.step(step, &data, &[0, 1, 2, 3]).unwrap().loss
            })
            .collect();
        let evaluated = trainer.evaluate(&samples).unwrap().loss;
        let far = keras
            .weights
            .iter()
            .map(|weight| distance(&tensor(&trainer, &weight.name), &self.after[&weight.path]));
        [distance(&losses, &self.losses), distance(&[evaluated], &[self.evaluated]), far.fold(0.0, f32::max)]
    }
}

fn tensor(trainer: &impl Exchange, name: &str) -> Vec<f32> {
    let (state, values) = (trainer.state(), trainer.values());
    let position = state.tensors.iter().position(|tensor| tensor.name == name).unwrap();
    let mut bytes = vec![0; state.tensors[position].bytes().0 as usize];
    values.read(position, 0, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect()
}

/// The largest difference, relative to 1 or the wanted number.
fn distance(found: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(found.len(), wanted.len());
    let far = |(found, wanted): (&f32, &f32)| (found - wanted).abs() / wanted.abs().max(1.0);
    found.iter().zip(wanted).map(far).fold(0.0, |worst, far| if far <= worst { worst } else { far })
}

#[test]
fn regularizers_add_to_losses_as_in_keras() {
    let given = std::env::var_os("REGULARIZER_CASES").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regularizers/cases.json");
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(given.unwrap_or(own)).unwrap()).unwrap();
    assert!(!cases.is_empty());
    let mut far = Vec::new();
    for case in &cases {
        for micro_batches in if case.whole { &[1][..] } else { &[1, 3] } {
            let found = case.distances(*micro_batches);
            if !found.iter().all(|&far| far <= 2e-5) {
                far.push(format!("{} in {micro_batches}: {found:?}", case.name));
            }
        }
    }
    assert!(far.is_empty(), "of {}:\n{}", cases.len(), far.join("\n"));
}
