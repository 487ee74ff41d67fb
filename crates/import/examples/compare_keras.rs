//! Compares models of a folder with what Keras computes for them: `make_keras.py random FOLDER COUNT SEED` writes them,
//! `cargo run -p plimsoll-import --example compare_keras FOLDER` says which differ.

#[path = "../tests/keras/rule.rs"]
mod rule;
#[path = "../tests/keras/run.rs"]
mod run;

use plimsoll_import::keras;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    pixels: bool,
    predictions: Vec<Vec<f32>>,
    gradients: Option<BTreeMap<String, Vec<f32>>>,
}

/// The largest difference, relative to the largest element.
const ALLOWED: f32 = 5e-5;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder"));
    let text = std::fs::read(folder.join("cases.json")).expect("cases.json");
    let cases: BTreeMap<String, Case> = serde_json::from_slice(&text).expect("the script writes JSON");
    std::panic::set_hook(Box::new(|_| ()));
    let (mut refused, mut different) = (0, 0);
    for (name, case) in &cases {
        match check(&folder, name, case) {
            Ok(()) => {}
            Err((true, why)) => {
                refused += 1;
                println!("{name} is refused: {why}");
            }
            Err((false, why)) => {
                different += 1;
                println!("{name} DIFFERS: {why}");
            }
        }
    }
    println!("{} cases, {refused} refused, {different} different", cases.len());
}

/// Whether a case is as in Keras; if not, whether it is refused, and why.
fn check(folder: &Path, name: &str, case: &Case) -> Result<(), (bool, String)> {
    let keras = keras::read(&folder.join(format!("{name}.json")), None);
    let keras = keras.map_err(|error| (true, error.to_string()))?;
    let caught = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let gradients = case.gradients.as_ref().map(|_| run::gradients(&keras, 2, case.pixels));
        (run::predict(&keras, 2, 1.0, case.pixels), gradients)
    }));
    let (predictions, gradients) = caught.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        (false, text.or(panic.downcast_ref().copied()).unwrap_or("it panics").to_string())
    })?;
    for (position, (found, wanted)) in predictions.iter().zip(&case.predictions).enumerate() {
        compare(&format!("output {position}"), found, wanted)?;
    }
    let (Some(found), Some(wanted)) = (gradients, &case.gradients) else { return Ok(()) };
    if found.keys().ne(wanted.keys()) {
        return Err((false, format!("gradients of {:?}, not of {:?}", found.keys(), wanted.keys())));
    }
    wanted.iter().try_for_each(|(of, wanted)| compare(&format!("gradient of {of}"), &found[of], wanted))
}

fn compare(what: &str, found: &[f32], wanted: &[f32]) -> Result<(), (bool, String)> {
    if found.len() != wanted.len() {
        return Err((false, format!("{what} has {} elements, not {}", found.len(), wanted.len())));
    }
    let largest = wanted.iter().fold(1e-2f32, |largest, x| largest.max(x.abs()));
    let near = |(a, b): &(&f32, &f32)| (*a - *b).abs() <= ALLOWED * largest;
    match found.iter().zip(wanted).find(|pair| !near(pair)) {
        Some((a, b)) => Err((false, format!("{what}: {a}, not {b}"))),
        None => Ok(()),
    }
}
