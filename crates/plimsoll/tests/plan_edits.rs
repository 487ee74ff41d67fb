//! Plan files that somebody has edited: each is refused with a reason, or trains exactly as before. Never a panic,
//! never other numbers.

#[path = "plan_edits/edit.rs"]
mod edit;

use edit::Editor;
use plimsoll::data::{self, Wanted};
use plimsoll::memory::Device;
use plimsoll::model::layer::{BatchNormalization, Conv2d, Dense, Flatten};
use plimsoll::model::{Builder, Model};
use plimsoll::{Allowed, Bytes, Job, JobError, Lever, PlanFile, Prepared, Run, Trainer, fit};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Some of everything: scratch, views, statistics, and two weights of one size.
fn model() -> Model {
    let mut net = Builder::new("small");
    let x = net.input([4, 4, 1]);
    let x = net.push(Conv2d::new(2, 3).relu(), &[x]);
    let x = net.push(BatchNormalization::default(), &[x]);
    let x = net.push(Flatten {}, &[x]);
    let x = net.push(Dense::new(8).relu(), &[x]);
    let x = net.push(Dense::new(8).relu(), &[x]);
    let x = net.push(Dense::new(3).softmax(), &[x]);
    net.build(x)
}

fn job(micro_batches: usize) -> Job {
    Job { micro_batches, ..Job::new(model(), 6).on_threads(1) }
}

/// The whole batch with something computed again.
fn recomputed() -> Prepared {
    let plain = job(1).prepare().unwrap();
    let least = plain.plan().persistent.0;
    let budgets = (1..20).map(|part| least + (plain.peak().0 - least) * (20 - part) / 20);
    let allow = Allowed::EXACT.without(Lever::Accumulate);
    let mut found = budgets.filter_map(|budget| fit(&job(1), Bytes(budget), allow).ok());
    let is_again = |prepared: &Prepared| prepared.parts[0].again().next().is_some();
    found.find(|found| is_again(&found.prepared)).expect("some budget makes it").prepared
}

/// Losses and weights to the bit.
fn train(prepared: Prepared) -> Result<Vec<u32>, JobError> {
    let data = data::open("synthetic", &Wanted::of(&prepared.training), 3)?;
    let run = Run { steps: 2, learning_rate: 0.01, seed: 3, poison: true };
    let mut bits = Vec::new();
    let peak = prepared.peak();
    let mut trainer = Trainer::new(prepared, &Device::host(peak), run)?;
    let outcome = trainer.train(&data, |progress| bits.push(progress.loss.to_bits()))?;
    assert_eq!(outcome.measured_peak, peak);
    Ok(bits)
}

/// A plan file as it was written.
struct Original {
    json: Value,
    losses: Vec<u32>,
}

fn originals() -> Vec<Original> {
    let prepared =
        [job(1).prepare().unwrap(), recomputed(), job(3).prepare().unwrap(), job(4).prepare().unwrap()];
    let original = |prepared: Prepared| {
        let file = PlanFile::new(&prepared, "small", prepared.peak());
        Original { json: serde_json::to_value(file).unwrap(), losses: train(prepared).unwrap() }
    };
    prepared.into_iter().map(original).collect()
}

fn prepare(json: &Value) -> Result<Prepared, JobError> {
    let text = serde_json::to_vec(json).unwrap();
    PlanFile::parse(&text, "edited").map_err(JobError::from)?.prepare(model())
}

/// What came of so many edits: how many were refused.
fn survive(edits: usize, seed: u64) -> usize {
    let originals = originals();
    let mut editor = Editor::new(seed);
    let mut refused = 0;
    for number in 0..edits {
        let original = &originals[number % originals.len()];
        let mut json = original.json.clone();
        let what = editor.edit(&mut json);
        let outcome = catch_unwind(AssertUnwindSafe(|| prepare(&json).and_then(train)));
        match outcome.unwrap_or_else(|_| panic!("edit {number} panics: {what}")) {
            Ok(losses) => assert_eq!(losses, original.losses, "edit {number} trains otherwise: {what}"),
            Err(JobError::BrokenPromise { .. }) => panic!("edit {number} breaks its promise: {what}"),
            Err(_) => refused += 1,
        }
    }
    refused
}

#[test]
fn files_as_they_were_written_train_as_before() {
    for original in originals() {
        assert_eq!(train(prepare(&original.json).unwrap()).unwrap(), original.losses);
    }
}

#[test]
fn swapped_weights_are_refused_by_name() {
    for micro_batches in [3, 4] {
        let prepared = job(micro_batches).prepare().unwrap();
        let mut file = PlanFile::new(&prepared, "small", prepared.peak());
        let part = file.parts.last_mut().unwrap();
        let graph = prepared.parts.last().unwrap().plan.graph();
        let named = |name: &str| graph.persistents().find(|&id| graph.value(id).name == name).unwrap();
        let [a, b] =
            ["dense/kernel", "dense_1/kernel"].map(|name| part.plan.storage[named(name).index()].unwrap());
        let [a, b] = [a, b].map(|id| id.0 as usize);
        assert_eq!(part.plan.buffers[a].bytes, part.plan.buffers[b].bytes);
        let offset = part.plan.buffers[a].offset;
        part.plan.buffers[a].offset = std::mem::replace(&mut part.plan.buffers[b].offset, offset);
        let error = file.prepare(model()).unwrap_err().to_string();
        assert!(error.contains("/kernel` lies at"), "{error}");
    }
}

type Change<'a> = &'a dyn Fn(&mut PlanFile);

#[test]
fn what_a_file_says_twice_must_agree() {
    let prepared = job(4).prepare().unwrap();
    let good = PlanFile::new(&prepared, "small", prepared.peak());
    let cases: [(&str, Change); 8] = [
        ("micro-batches", &|file| file.batch = 7),
        ("micro-batches", &|file| file.micro_batches = 5),
        ("micro-batches", &|file| file.updates = None),
        ("kernels is cpu, 1 threads, here it is cpu, 2 threads", &|file| file.threads = 2),
        ("evaluation", &|file| file.evaluation.rows = usize::MAX),
        ("budget", &|file| file.budget = Bytes(file.peak.0 - 1)),
        ("another model", &|file| file.objective.heads[0].loss = plimsoll::train::Loss::MeanSquaredError),
        ("another model", &|file| file.optimizer = plimsoll::train::Optimizer::Sgd),
    ];
    for (piece, change) in cases {
        let mut file = good.clone();
        change(&mut file);
        let error = file.prepare(model()).unwrap_err().to_string();
        assert!(error.contains(piece), "{piece}: {error}");
    }
}

#[test]
fn random_edits_are_refused_or_change_nothing() {
    let refused = survive(EDITS, 1);
    // Names of values, a larger budget and the like may change freely; almost everything else may not.
    assert!(refused > EDITS / 2, "{refused}");
    assert!(refused < EDITS, "an edit that changes nothing should pass");
}

const EDITS: usize = 10_000;
