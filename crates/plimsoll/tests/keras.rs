//! Models of Keras in training: the same losses as Keras, step by step, and files that hold what was trained.
//!
//! The files are those of `crates/import/tests/keras`, made by the scripts there.

#[path = "../../import/tests/keras/rule.rs"]
mod rule;

use plimsoll::data::{Elements, Field, FieldKind, Samples, Wanted};
use plimsoll::import::keras::{self, Keras};
use plimsoll::memory::Device;
use plimsoll::{Exchange, Job, Run, Trainer, imported};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Samples in a step.
const BATCH: usize = 4;

#[derive(Deserialize)]
struct File {
    /// Of four steps, each before its update.
    losses: Vec<f32>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/keras")
}

fn files() -> BTreeMap<String, File> {
    serde_json::from_slice(&std::fs::read(folder().join("files.json")).unwrap()).unwrap()
}

/// The one batch that `make_files.py` trains on.
struct OneBatch {
    fields: Vec<Field>,
}

impl Samples for OneBatch {
    fn count(&self) -> usize {
        BATCH
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn write(&self, field: usize, sample: usize, into: Elements<'_>) {
        match (self.fields[field].kind, into) {
            (FieldKind::Target, Elements::I32(into)) => {
                into.fill(rule::classes("y", BATCH).nth(sample).unwrap());
            }
            (_, Elements::F32(into)) => {
                let units = rule::units("x", BATCH * into.len()).skip(sample * into.len());
                into.iter_mut().zip(units).for_each(|(into, unit)| *into = unit as f32);
            }
            (_, Elements::I32(into)) => {
                let ids = rule::ids("x", BATCH * into.len()).skip(sample * into.len());
                into.iter_mut().zip(ids).for_each(|(into, id)| *into = id);
            }
        }
    }
}

/// A trainer that starts where the file does, with what it was compiled with.
fn trainer(keras: &Keras, micro_batches: usize) -> Trainer {
    let (descent, learning_rate) = imported::optimizer(keras.compiled.optimizer.as_ref().unwrap()).unwrap();
    let (optimizer, settings) = (descent.optimizer, descent.settings);
    let objective = imported::objective(&keras.compiled, &keras.model).unwrap().unwrap();
    let job = Job {
        optimizer,
        settings,
        objective,
        micro_batches,
        ..Job::new(keras.model.clone(), BATCH).on_threads(2)
    };
    let prepared = job.prepare().unwrap();
    let device = Device::host(prepared.peak());
    let run = Run { steps: 4, learning_rate, seed: 7, poison: true };
    let mut trainer = Trainer::new(prepared, &device, run).unwrap();
    trainer.read_weights(keras).unwrap();
    trainer
}

fn losses(trainer: &mut Trainer, steps: std::ops::RangeInclusive<u64>) -> Vec<f32> {
    let batch = OneBatch { fields: Wanted::of(&trainer.prepared()[0].training).fields() };
    let data = trainer.bind(&batch).unwrap();
    steps.map(|step| trainer.step(step, &data, &[0, 1, 2, 3]).unwrap().loss).collect()
}

#[test]
fn losses_are_keras_s_step_by_step() {
    for (name, file) in files() {
        let keras = keras::read(&folder().join("files").join(&name), None).unwrap();
        let found = losses(&mut trainer(&keras, 1), 1..=4);
        for (step, (found, wanted)) in found.iter().zip(&file.losses).enumerate() {
            let error = (found - wanted).abs() / wanted;
            assert!(error < 1e-5, "{name} step {step}: {found}, not {wanted}");
        }
    }
}

#[test]
fn a_saved_model_goes_on_where_it_was() {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["logits.keras", "logits.h5", "transfer.keras"] {
        let keras = keras::read(&folder().join("files").join(name), None).unwrap();
        let mut first = trainer(&keras, 2);
        losses(&mut first, 1..=2);
        let path = scratch.path().join(name);
        first.write_weights(&keras, &path).unwrap();
        let saved = keras::read(&path, None).unwrap();
        let after = losses(&mut trainer(&saved, 1), 1..=1)[0];
        let known = losses(&mut first, 3..=3)[0];
        assert!((after - known).abs() < 1e-5 * known, "{name}: {after}, not {known}");
    }
}
