//! Models with several inputs and outputs in training: Keras's losses step by step, in total and for each output, with
//! and without sample weights, whole and in micro-batches.
//!
//! The files are made by `heads/make_heads.py`.

use plimsoll::data::InMemory;
use plimsoll::import::keras;
use plimsoll::memory::Device;
use plimsoll::{Exchange, Job, Progress, Run, Trainer, imported};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file, a batch, and what Keras says about training on it.
#[derive(Deserialize)]
struct Case {
    file: String,
    weighted: bool,
    batch: usize,
    fields: Vec<Numbers>,
    /// What `train_on_batch` returns, by name.
    steps: Vec<BTreeMap<String, f32>>,
}

#[derive(Deserialize)]
struct Numbers {
    kind: String,
    name: String,
    shape: Vec<usize>,
    #[serde(default)]
    floats: Vec<f32>,
    #[serde(default)]
    integers: Vec<i32>,
}

impl Case {
    fn samples(&self) -> InMemory {
        self.fields.iter().fold(InMemory::new(), |samples, field| {
            let Numbers { kind, name, shape, floats, integers } = field;
            let shape = plimsoll::graph::Shape::new(shape.clone());
            let column = match integers.is_empty() {
                true => floats.clone().into(),
                false => plimsoll::data::Column::I32(integers.clone()),
            };
            let added = match kind.as_str() {
                "input" => samples.input(name, shape, column),
                "target" => samples.target(name, shape, column),
                _ => samples.sample_weight(name, floats.clone()),
            };
            added.unwrap()
        })
    }

    /// A trainer that starts where the file does, with what it was compiled with.
    fn trainer(&self, folder: &Path, micro_batches: usize) -> Trainer {
        let keras = keras::read(&folder.join(&self.file), None).unwrap();
        let compiled = &keras.compiled;
        let (descent, learning_rate) = imported::optimizer(compiled.optimizer.as_ref().unwrap()).unwrap();
        let mut objective = imported::objective(compiled, &keras.model).unwrap().unwrap();
        objective.heads.iter_mut().for_each(|head| head.sample_weights = self.weighted);
        let job = Job {
            optimizer: descent.optimizer,
            settings: descent.settings,
            objective,
            micro_batches,
            ..Job::new(keras.model.clone(), self.batch).on_threads(2)
        };
        let prepared = job.prepare().unwrap();
        let device = Device::host(prepared.peak());
        let run = Run { steps: self.steps.len() as u64, learning_rate, seed: 7, poison: true };
        let mut trainer = Trainer::new(prepared, &device, run).unwrap();
        trainer.read_weights(&keras).unwrap();
        trainer
    }

    /// The largest relative error of all steps, total and heads.
    fn error(&self, folder: &Path, micro_batches: usize) -> f32 {
        let samples = self.samples();
        let mut trainer = self.trainer(folder, micro_batches);
        let data = trainer.bind(&samples).unwrap();
        let order: Vec<usize> = (0..self.batch).collect();
        let mut worst: f32 = 0.0;
        for (step, wanted) in (1..).zip(&self.steps) {
            let progress = trainer.step(step, &data, &order).unwrap();
            worst = worst.max(distance(&progress, wanted));
        }
        worst
    }
}

/// How far a step is from what Keras says, relatively.
fn distance(found: &Progress, wanted: &BTreeMap<String, f32>) -> f32 {
    // A cosine may be near 0, where its terms are not.
    let relative = |found: f32, wanted: f32| (found - wanted).abs() / wanted.abs().max(0.1);
    let mut worst = relative(found.loss, wanted["loss"]);
    // Of outputs of one name, Keras tells the loss of the last.
    if wanted.len() > found.heads.len() {
        for head in &found.heads {
            let error = relative(head.loss, wanted[&format!("{}_loss", head.output)]);
            if error > 1e-5 {
                println!(
                    "{}: {} instead of {}",
                    head.output,
                    head.loss,
                    wanted[&format!("{}_loss", head.output)]
                );
            }
            worst = worst.max(error);
        }
    }
    worst
}

fn cases(folder: &Path) -> Vec<Case> {
    serde_json::from_slice(&std::fs::read(folder.join("cases.json")).unwrap()).unwrap()
}

fn compare(folder: &Path) {
    let cases = cases(folder);
    assert!(!cases.is_empty());
    for case in cases {
        let keras = keras::read(&folder.join(&case.file), None).unwrap();
        let objective = imported::objective(&keras.compiled, &keras.model).unwrap().unwrap();
        let mixes = Job { objective, ..Job::new(keras.model.clone(), 2) }.mixing().unwrap().is_some();
        for &micro_batches in if mixes { &[1][..] } else { &[1, 3] } {
            let error = case.error(folder, micro_batches);
            let Case { file, weighted, .. } = &case;
            println!("{file} weighted={weighted} micro-batches={micro_batches}: {error:.1e}");
            assert!(error < 1e-5, "{file}, weighted: {weighted}, in {micro_batches} micro-batches: {error}");
        }
    }
}

#[test]
fn losses_are_keras_s_in_total_and_for_each_output() {
    compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/heads"));
}

/// For models that `make_heads.py FOLDER COUNT` has drawn.
#[test]
#[ignore = "compares the models of the folder that PLIMSOLL_HEADS_FOLDER names"]
fn drawn_models_train_as_in_keras() {
    compare(&PathBuf::from(std::env::var("PLIMSOLL_HEADS_FOLDER").unwrap()));
}

/// Weights of an output without a loss stay as they are, as in Keras.
#[test]
fn an_output_without_a_loss_is_not_trained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/heads");
    let case = cases(&folder).into_iter().find(|case| case.file == "listed.keras").unwrap();
    let (samples, mut trainer) = (case.samples(), case.trainer(&folder, 1));
    let graph = trainer.executor().graph(trainer.program()).clone();
    let read = |trainer: &Trainer, name: &str| {
        trainer.executor().read_f32(trainer.program(), graph.find(name).unwrap())
    };
    let before = ["idle/kernel", "logits/kernel"].map(|name| read(&trainer, name));
    let data = trainer.bind(&samples).unwrap();
    let order: Vec<usize> = (0..case.batch).collect();
    trainer.step(1, &data, &order).unwrap();
    assert_eq!(read(&trainer, "idle/kernel"), before[0]);
    assert_ne!(read(&trainer, "logits/kernel"), before[1]);
    let idle = &trainer.prepared()[0].training;
    let names: Vec<&str> = idle.idle.iter().map(|&id| idle.graph.value(id).name.as_str()).collect();
    assert_eq!(names, ["idle/kernel", "idle/bias"]);
}
