//! The counted work of models whose multiply-accumulates are published.

use plimsoll::model::{Mode, zoo};
use plimsoll::plan::{Work, graph_work};

fn forward(model: &str, batch: usize) -> Work {
    let graph = zoo::find(model).unwrap().lower(batch, Mode::Inference).unwrap();
    graph.op_ids().map(|op| graph_work(&graph, op)).sum()
}

/// Published multiply-accumulates of an image, in billions: He et al. 2015 table 1 (3.8 for ResNet-50, without the last
/// stage's details), Simonyan and Zisserman 2014 as counted by He et al. (15.3 for VGG-16), Sandler et al. 2018 table 4
/// (0.30 for MobileNet v2), Huang et al. 2016 as counted by torchvision (2.83 for DenseNet-121).
#[test]
fn forward_passes_count_what_is_published() {
    let cases = [
        ("resnet50@224", 3.8..4.2),
        ("vgg16@224", 15.2..15.7),
        ("mobilenet_v2@224", 0.29..0.34),
        ("densenet121@224", 2.7..3.0),
    ];
    for (model, published) in cases {
        let giga = forward(model, 1).flops as f64 / 2e9;
        assert!(published.contains(&giga), "{model}: {giga} GMAC");
    }
}

#[test]
fn work_grows_with_the_batch() {
    for model in ["resnet20@32", "lstm@16", "transformer@16,layers=1"] {
        let [one, two, four] = [1, 2, 4].map(|batch| forward(model, batch));
        assert!(one.flops < two.flops && two.flops < four.flops, "{model}");
        // Weights are read once whatever the batch is.
        assert!(one.bytes < two.bytes && two.bytes < 2 * one.bytes, "{model}");
    }
}
