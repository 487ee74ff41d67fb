//! Layers that are used several times.

use crate::numbers::units;
use plimsoll_exec::reference::{Tensor, interpret};
use plimsoll_graph::{OpKind, ValueId};
use plimsoll_model::layer::{BatchNormalization, Merge};
use plimsoll_model::{Builder, Mode};
use std::collections::HashMap;

/// A graph updates a statistic once; it must come to what one update after another gives.
#[test]
fn statistics_follow_every_call_in_order() {
    let norm = || BatchNormalization::default().momentum(0.75);
    let mut net = Builder::new("shared");
    let inputs = [net.input([1]), net.input([1]), net.input([1])];
    let normalized = inputs.map(|x| net.add("norm", norm(), &[x]));
    let sum = net.push(Merge::Add, &normalized);
    let graph = net.build(sum).lower(4, Mode::Training).unwrap();
    let samples = |name: &str| units(name, 4);
    let mut given: HashMap<ValueId, Tensor> = HashMap::new();
    for (id, name) in graph.inputs().zip(["a", "b", "c"]) {
        given.insert(id, Tensor::f32([4, 1], samples(name)));
    }
    for id in graph.persistents() {
        given.insert(id, Tensor::f32([1], [0.5]));
    }
    let contents = interpret(&graph, &given);
    let mean = |name: &str| samples(name).iter().sum::<f64>() / 4.0;
    let wanted = ["a", "b", "c"].iter().fold(0.5, |moving, name| 0.75 * moving + 0.25 * mean(name));
    let update = graph.ops().iter().find(|op| matches!(op.kind, OpKind::MovingAverage(_))).unwrap();
    assert_eq!(graph.value(update.inputs[0]).name, "norm/moving_mean");
    let found = contents[update.outputs[0].index()].data[0];
    assert!((found - wanted).abs() < 1e-7, "{found}, not {wanted}");
}
