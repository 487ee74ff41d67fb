//! Every model of the zoo lowers, holds together, and has the parameters that Keras says it has.

use plimsoll_graph::{Graph, Phase, Role, text, verify};
use plimsoll_model::{Mode, zoo};
use serde_json::Value;

/// What TensorFlow says, made by `make_zoo.py` beside it.
const GOLDEN: &str = include_str!("../../plimsoll/tests/golden/zoo.json");

fn golden() -> Value {
    serde_json::from_str(GOLDEN).unwrap()
}

fn lower(spec: &str, batch: usize, mode: Mode) -> Graph {
    let graph = zoo::find(spec).unwrap().lower(batch, mode).unwrap_or_else(|error| panic!("{spec}: {error}"));
    verify(&graph).unwrap_or_else(|error| panic!("{spec}: {error}"));
    graph
}

fn assert_counts(spec: &str, wanted: &Value) {
    let graph = lower(spec, 2, Mode::Training);
    let counts = [graph.elements_of(Role::Parameter), graph.elements_of(Role::Statistic)];
    let wanted = ["trainable", "statistics"].map(|key| wanted[key].as_u64().unwrap() as usize);
    assert_eq!(counts, wanted, "{spec}");
}

#[test]
fn parameter_counts_are_keras_s() {
    let golden = golden();
    let counts = golden["counts"].as_object().unwrap();
    for entry in zoo::entries() {
        assert_counts(entry.name, &counts[entry.name]);
    }
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        assert_counts(case["spec"].as_str().unwrap(), case);
    }
    let resnet50 = lower("resnet50", 1, Mode::Training);
    assert_eq!(resnet50.elements_of(Role::Parameter), 23_555_082);
    assert_eq!(resnet50.elements_of(Role::Statistic), 23_608_202 - 23_555_082);
}

#[test]
fn names_and_shapes_of_parameters_are_keras_s() {
    for case in golden()["cases"].as_array().unwrap() {
        let spec = case["spec"].as_str().unwrap();
        let graph = lower(spec, 2, Mode::Training);
        let wanted = case["gradients"].as_object().unwrap();
        assert_eq!(graph.with_role(Role::Parameter).count(), wanted.len(), "{spec}");
        for id in graph.with_role(Role::Parameter) {
            let name = &graph.value(id).name;
            let shape: Vec<usize> = serde_json::from_value(wanted[name]["shape"].clone()).unwrap();
            assert_eq!(graph.tensor(id).shape.extents(), shape, "{spec} {name}");
        }
    }
}

#[test]
fn every_model_round_trips_in_both_modes() {
    for entry in zoo::entries() {
        let spec = format!("{}@{}", entry.name, entry.smallest_size);
        for mode in [Mode::Training, Mode::Inference] {
            let graph = lower(&spec, 2, mode);
            let [output] = graph.outputs() else { panic!("{spec} has one output") };
            let predictions = graph.tensor(*output);
            assert_eq!((predictions.shape[0], predictions.shape.last()), (2, 10), "{spec}");
            assert_eq!(text::parse(&text::print(&graph)).unwrap(), graph, "{spec}");
            let updates = graph.ops().iter().filter(|op| op.phase == Phase::Update).count();
            assert!(mode == Mode::Training || updates == 0, "{spec}: inference changes nothing");
        }
        let model = zoo::find(&spec).unwrap();
        let json = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<plimsoll_model::Model>(&json).unwrap(), model, "{spec}");
    }
}

#[test]
fn only_dropout_in_training_reads_the_step() {
    for (spec, dropping) in [
        ("efficientnet_b0@32", true),
        ("efficientnet_b0@32,dropout=0,drop_connect=0", false),
        ("mobilenet_v3_large@32", true),
        ("transformer@4,dropout=0.1", true),
        ("transformer@4", false),
    ] {
        assert_eq!(lower(spec, 2, Mode::Training).find("step").is_some(), dropping, "{spec}");
        assert_eq!(lower(spec, 2, Mode::Inference).find("step"), None, "{spec}");
    }
}

#[test]
fn only_batch_normalization_lets_samples_see_each_other() {
    for entry in zoo::entries() {
        let spec = format!("{}@{}", entry.name, entry.smallest_size);
        let graph = lower(&spec, 2, Mode::Training);
        let normalizes = graph.ops().iter().any(|op| matches!(op.kind, plimsoll_graph::OpKind::BatchNorm(_)));
        let mixing = zoo::find(&spec).unwrap().mixing().unwrap();
        assert_eq!(mixing.map(|mixing| mixing.op), normalizes.then_some("batch_norm"), "{spec}");
    }
}

#[test]
fn dropouts_have_seeds_of_their_own() {
    let graph = lower("efficientnet_b0@32", 2, Mode::Training);
    let mut seeds: Vec<u64> = graph
        .ops()
        .iter()
        .filter_map(|op| match &op.kind {
            plimsoll_graph::OpKind::Dropout(dropout) => Some(dropout.seed),
            _ => None,
        })
        .collect();
    let all = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!((all, seeds.len()), (10, 10));
}

#[test]
fn absurd_batches_are_errors() {
    for entry in zoo::entries() {
        let model = zoo::find(entry.name).unwrap();
        for batch in [0, usize::MAX, usize::MAX / 1000, 1 << 40] {
            assert!(model.lower(batch, Mode::Training).is_err(), "{} at batch {batch}", entry.name);
        }
    }
}
