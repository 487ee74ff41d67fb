//! Names carry no meaning: whatever a model calls its layers, it trains as it would under plain names.

use plimsoll::data::{self, Wanted};
use plimsoll::graph::Role;
use plimsoll::memory::Device;
use plimsoll::model::layer::{Activation, Dense, Dropout};
use plimsoll::model::{Builder, Model};
use plimsoll::train::Loss;
use plimsoll::{Allow, Bytes, Job, Run, Trainer, fit};

/// Names that other layers, generated values and text forms could be taken for.
const HOSTILE: [[&str; 3]; 5] = [
    ["accumulated", "accumulated_2", "accumulated/a"],
    ["a (again)", "b (again)", "c (again)"],
    ["adam/m", "adam/v/adam/m", "accumulated/adam/m"],
    ["step", "targets", "learning_rate"],
    ["x", "\"quoted\"\nin % two [lines]", "déjà vu #1 @0"],
];

const PLAIN: [&str; 3] = ["a", "b", "c"];

fn model(names: [&str; 3]) -> Model {
    let mut builder = Builder::new("names");
    let x = builder.input([12]);
    let hidden = builder.add(names[0], Dense::new(64).activation(Activation::Tanh), &[x]);
    let dropped = builder.add(names[1], Dropout::new(0.25), &[hidden]);
    let y = builder.add(names[2], Dense::new(3), &[dropped]);
    builder.build(y)
}

fn job(names: [&str; 3]) -> Job {
    Job { objective: Loss::MeanSquaredError.into(), ..Job::new(model(names), 6).on_threads(1) }
}

fn losses(job: &Job) -> Vec<f32> {
    let prepared = job.prepare().unwrap();
    let data = data::open("synthetic", &Wanted::of(&prepared.training), 5).unwrap();
    let run = Run { steps: 3, learning_rate: 0.01, seed: 5, poison: true };
    let mut trainer = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run).unwrap();
    let mut losses = Vec::new();
    trainer.train(&data, |progress| losses.push(progress.loss)).unwrap();
    losses
}

#[test]
fn a_layer_called_accumulated_keeps_its_weights() {
    for micro_batches in [1, 3] {
        let parts = |names| losses(&Job { micro_batches, ..job(names) });
        let plain = parts(PLAIN);
        for names in HOSTILE {
            assert_eq!(parts(names), plain, "{names:?} in {micro_batches}");
        }
    }
}

#[test]
fn what_is_added_up_is_an_accumulator_and_nothing_else_is() {
    for names in HOSTILE {
        let prepared = Job { micro_batches: 2, ..job(names) }.prepare().unwrap();
        let by_role = prepared.persistent_by_role();
        assert_eq!(by_role[&Role::Accumulator], by_role[&Role::Parameter], "{names:?}");
        assert_eq!(by_role[&Role::OptimizerState], by_role[&Role::Parameter] + by_role[&Role::Parameter]);
    }
}

#[test]
fn a_name_that_ends_in_again_is_not_computed_again() {
    let job = job(["a (again)", "b (again)", "c (again)"]);
    let prepared = job.prepare().unwrap();
    assert_eq!(prepared.parts[0].again().count(), 0);
    assert_eq!(prepared.exhibit().again().count(), 0);
    // The smallest budget has values computed again; they say so, and nothing else does.
    let smallest = (4..=10).find_map(|tenth| {
        let budget = Bytes(prepared.peak().0 * tenth / 10);
        fit(&job, budget, Allow { whole: true, ..Allow::default() }).ok()
    });
    let found = smallest.unwrap().prepared;
    let ops = found.step().graph().ops().iter();
    let again = ops.filter(|op| op.again && !op.kind.is_view()).count();
    assert_eq!(found.parts[0].again().count(), again);
    let held = found.usage().live;
    assert!(held.iter().all(|held| !held.value.ends_with("(again) (again)")));
    assert!(
        held.iter().all(
            |held| held.shown().ends_with(" (again)") == (held.again || held.value.ends_with(" (again)"))
        )
    );
}
