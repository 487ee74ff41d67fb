//! Models that the differential tester has drawn: Keras's parameter counts, predictions, losses and trained weights,
//! and the same numbers by every way of making a step.
//!
//! `bench/peers/keras/golden.py` has made the data; see `drawn/ORIGIN.md`.

#[path = "../examples/differ/case.rs"]
mod case;
#[path = "../examples/differ/ways.rs"]
mod ways;

use case::{Answer, Case};
use plimsoll::import::keras::{self, Keras};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Golden {
    name: String,
    case: Case,
    wanted: Wanted,
}

/// What Keras says.
#[derive(Deserialize)]
struct Wanted {
    counts: [usize; 2],
    predictions: Vec<Vec<f32>>,
    losses: Vec<f32>,
    /// After the steps, by their place in the file.
    weights: BTreeMap<String, Vec<f32>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drawn")
}

#[test]
fn drawn_models_are_keras_s() {
    let text = std::fs::read(folder().join("cases.json")).unwrap();
    let mut cases: Vec<Golden> = serde_json::from_slice(&text).unwrap();
    assert!(cases.len() > 20);
    let problem = |golden: &mut Golden| golden.check().err().map(|why| format!("{}: {why}", golden.name));
    let problems: Vec<String> = cases.iter_mut().filter_map(problem).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

impl Golden {
    fn check(&mut self) -> Result<(), String> {
        let scratch = tempfile::tempdir().unwrap();
        let saved = scratch.path().join("saved.keras");
        self.case.file = folder().join(&self.case.file);
        // Looking for plans in a tight budget takes longest, so only some do.
        self.case.ways = self.name.ends_with(['0', '3', 'd']);
        self.case.save = Some(saved.clone());
        let mut answer = Answer::default();
        self.case.answer(&mut answer).map_err(|refused| format!("{}: {}", refused.stage, refused.message))?;
        if answer.counts != self.wanted.counts {
            return Err(format!("{:?} parameters, not {:?}", answer.counts, self.wanted.counts));
        }
        for (found, wanted) in answer.predictions.iter().zip(&self.wanted.predictions) {
            near("predictions", found, wanted, 2e-5 * largest(wanted).max(1.0))?;
        }
        near("losses", &answer.losses, &self.wanted.losses, 5e-5 * largest(&self.wanted.losses).max(1e-2))?;
        for (name, way) in &answer.ways {
            let same = way.refused.is_none() && way.promise_kept != Some(false) && way.difference < 1e-4;
            same.then_some(())
                .ok_or(format!("{name}: {:?}, {} by {}", way.refused, way.tensor, way.difference))?;
        }
        self.check_weights(&saved)
    }

    /// As far as weights have changed, they have changed as in Keras.
    fn check_weights(&self, saved: &Path) -> Result<(), String> {
        let open = |path: &Path| keras::read(path, None).map_err(|error| error.to_string());
        let (before, after) = (open(&self.case.file)?, open(saved)?);
        for (position, weight) in after.weights.iter().enumerate() {
            let missing = || format!("Keras has nothing at {}", weight.path);
            let wanted = self.wanted.weights.get(&weight.path).ok_or_else(missing)?;
            let (first, last) = (read(&before, position), read(&after, position));
            let change = first.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            near(&weight.path, &last, wanted, 2e-3 * change + 2e-6 * largest(wanted).max(1e-3))?;
        }
        Ok(())
    }
}

fn read(keras: &Keras, position: usize) -> Vec<f32> {
    let mut into = vec![f32::NAN; keras.weights[position].shape.iter().product()];
    keras.read_weight(position, &mut into).unwrap();
    into
}

fn largest(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}

fn near(what: &str, found: &[f32], wanted: &[f32], allowed: f32) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("{what}: {} numbers, not {}", found.len(), wanted.len()));
    }
    // What is no number is far from everything.
    let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= allowed;
    match found.iter().zip(wanted).find(|&pair| !is_near(pair)) {
        Some((a, b)) => Err(format!("{what}: {a}, not {b}")),
        None => Ok(()),
    }
}
