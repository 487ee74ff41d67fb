//! The search for what to compute again is never worse than the square-root scheme of Chen et al., "Training Deep Nets
//! with Sublinear Memory Cost" (2016), on the models of the zoo that are chains.

use plimsoll::exec::kernels::CpuKernels;
use plimsoll::graph::Graph;
use plimsoll::model::{Mode, zoo};
use plimsoll::plan::recompute::schedule::{Gap, Scheduler, Sums};
use plimsoll::plan::recompute::{Problem, search};
use plimsoll::plan::{Options, Target, graph_work};
use plimsoll::train::{Loss, Optimizer, training_graph};

const CHAINS: [(&str, usize); 5] =
    [("mlp", 256), ("lenet", 64), ("cnn", 64), ("vgg16@64", 16), ("vgg16@224", 4)];

fn training(model: &str, batch: usize) -> Graph {
    let forward = zoo::find(model).unwrap().lower(batch, Mode::Training).unwrap();
    let loss = Loss::SparseCategoricalCrossEntropy { from_logits: false };
    training_graph(forward, &loss.into(), Optimizer::parse("adam").unwrap()).unwrap().graph
}

/// Keeps what the last task of each segment writes; everything else that the backward pass reads is computed again
/// once.
fn chen(problem: &Problem, segments: usize) -> Sums {
    let mut scheduler = Scheduler::new(problem);
    let length = problem.turn.div_ceil(segments);
    let mut gaps = scheduler.all_held();
    for gap in scheduler.candidates() {
        let (begin, end) = scheduler.span(gap);
        let is_checkpoint = (scheduler.producer(gap) + 1).is_multiple_of(length);
        if begin < problem.turn && end >= problem.turn && !is_checkpoint {
            gaps[gap] = Gap::Once;
        }
    }
    scheduler.sums(&gaps, 0)
}

#[test]
fn never_worse_than_the_square_root_scheme_on_chains() {
    for (model, batch) in CHAINS {
        let graph = training(model, batch);
        let costs: Vec<f64> = graph.op_ids().map(|id| graph_work(&graph, id).flops as f64).collect();
        let target = Target::new(CpuKernels { lanes: 2 });
        let problem = Problem::of(&graph, &costs, &target, Options::default());
        let root = (problem.turn as f64).sqrt().round() as usize;
        for segments in [root - 1, root, root + 1] {
            let theirs = chen(&problem, segments.max(1));
            let ours = search(&problem, theirs.floor, 1).sums;
            let percent = |sums: &Sums| 100.0 * sums.extra / problem.cost();
            println!(
                "{model} x {batch}, {segments} segments, {} bytes: {:.3} % against {:.3} %",
                theirs.floor,
                percent(&ours),
                percent(&theirs)
            );
            assert_eq!(ours.excess, 0, "{model}, {segments} segments");
            assert!(ours.extra <= theirs.extra, "{model}, {segments} segments: {ours:?}, {theirs:?}");
        }
    }
}
