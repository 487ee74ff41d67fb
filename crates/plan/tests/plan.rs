//! Plans of a small training graph, and damaged plans that the proof must refuse.

use plimsoll_graph::op::{Binary, MatMul, MovingAverage, Reshape, Unary, UnaryGradient, Update};
use plimsoll_graph::{Graph, Init, OpKind, Phase, Role, Site, TensorType, ValueId};
use plimsoll_plan::{Kernels, Options, Plan, Residents, Target, plan, predict, usage, verify};
use plimsoll_trace::{Bytes, Offset, summarize};

/// Kernels with a little scratch for products, elementwise ops in place.
#[derive(Debug)]
struct TestKernels;

impl Kernels for TestKernels {
    fn name(&self) -> String {
        "test".to_string()
    }

    fn scratch(&self, kind: &OpKind, _: &[TensorType], _: &[TensorType]) -> Bytes {
        if matches!(kind, OpKind::MatMul(_)) { Bytes(100) } else { Bytes::ZERO }
    }

    fn in_place(&self, kind: &OpKind) -> &'static [(usize, usize)] {
        match kind {
            OpKind::Unary(_) => &[(0, 0)],
            OpKind::UnaryGradient(_) => &[(1, 0)],
            OpKind::Binary(_) => &[(0, 0), (1, 0)],
            _ => &[],
        }
    }
}

fn target() -> Target {
    Target::new(TestKernels)
}

/// `relu(x w)` with a hand-made backward pass, an SGD update and a moving average.
fn training_graph() -> Graph {
    let mut graph = Graph::new("small");
    let layer = graph.add_layer("dense");
    let forward = Site::forward(layer);
    let backward = Site { layer: Some(layer), phase: Phase::Backward };
    let update = Site { layer: Some(layer), phase: Phase::Update };
    let x = graph.add_input("x", TensorType::f32([2, 4, 4])).unwrap();
    let rate = graph.add_input("learning_rate", TensorType::f32([])).unwrap();
    let step = graph.add_input("step", TensorType::i32([])).unwrap();
    let persistent = |graph: &mut Graph, name: &str, role: Role| {
        graph.add_persistent(name, TensorType::f32([16, 16]), role, Init::Constant(0.0), Some(layer)).unwrap()
    };
    let w = persistent(&mut graph, "w", Role::Parameter);
    let moving = persistent(&mut graph, "moving", Role::Statistic);
    let add = |graph: &mut Graph, kind: OpKind, inputs: &[ValueId], site: Site| {
        graph.add_single(kind, inputs, site).unwrap()
    };
    let flat = add(&mut graph, Reshape { shape: [2, 16].into() }.into(), &[x], forward);
    let product = add(&mut graph, MatMul::default().into(), &[flat, w], forward);
    let y = add(&mut graph, Unary::Relu.into(), &[product], forward);
    let dy = add(&mut graph, Binary::Add.into(), &[y, y], backward);
    let dproduct = add(&mut graph, UnaryGradient(Unary::Relu).into(), &[y, dy], backward);
    let transposed = MatMul { transpose_a: true, transpose_b: false };
    let dw = add(&mut graph, transposed.into(), &[flat, dproduct], backward);
    let decayed = add(&mut graph, Binary::Add.into(), &[dw, w], backward);
    add(&mut graph, Update::Sgd.into(), &[w, decayed, rate, step], update);
    add(&mut graph, MovingAverage { momentum: 0.9 }.into(), &[moving, dw], update);
    graph.add_output(y);
    graph
}

fn made(options: Options) -> (Graph, Plan) {
    let graph = training_graph();
    let plan = plan(&graph, &target(), options, &Residents::default());
    (graph, plan)
}

#[test]
fn every_combination_of_options_is_proved_and_predicted() {
    let mut peaks = Vec::new();
    for in_place in [false, true] {
        for update_when_ready in [false, true] {
            let (graph, plan) = made(Options { in_place, update_when_ready });
            let summary = summarize(&predict(&graph, &plan));
            plimsoll_trace::verify(&predict(&graph, &plan)).unwrap();
            assert_eq!((summary.peak, summary.floor), (plan.peak, plan.floor));
            let by_role: Bytes = usage(&graph, &plan).by_role.into_values().sum();
            assert_eq!(by_role, plan.floor);
            peaks.push(plan.peak);
            verify(graph, plan, &target()).unwrap();
        }
    }
    assert!(peaks[3] < peaks[0], "the levers save nothing: {peaks:?}");
}

#[test]
fn plans_are_the_same_every_time_and_round_trip() {
    let (_, first) = made(Options::default());
    let (_, second) = made(Options::default());
    assert_eq!(first, second);
    let json = serde_json::to_string(&first).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), first);
}

#[test]
fn updates_run_as_soon_as_they_may() {
    let (graph, plan) = made(Options::default());
    let names: Vec<&str> = plan.order.iter().map(|&id| graph.op(id).kind.name()).collect();
    // The moving average waits for its gradient only; the parameter also for the op that still reads it.
    assert_eq!(names[5..], ["matmul", "moving_average", "binary", "update"]);
}

#[test]
fn persistent_values_keep_the_places_they_have() {
    let (graph, trained) = made(Options::default());
    let residents = trained.residents(&graph);
    let again = plan(&graph, &target(), Options::default(), &residents);
    assert_eq!(again, trained);
    let moved = Residents { end: Offset(1 << 20), ..residents };
    let above = plan(&graph, &target(), Options::default(), &moved);
    assert!(above.buffers.iter().all(|b| b.role.is_persistent() || b.offset.0 >= 1 << 20));
    verify(graph, above, &target()).unwrap();
}

#[test]
fn damaged_plans_are_refused() {
    let (graph, good) = made(Options::default());
    let refused = |damage: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        damage(&mut plan);
        verify(graph.clone(), plan, &target()).unwrap_err().to_string()
    };
    let steps = good.order.len();
    assert!(refused(&|p| p.order.swap(1, 2)).contains("not (or no longer) there"));
    assert!(refused(&|p| p.order[3] = p.order[2]).contains("runs twice"));
    assert!(refused(&|p| p.peak = Bytes(p.peak.0 - 64)).contains("outside the arena"));
    assert!(refused(&|p| p.peak = Bytes(p.peak.0 + 64)).contains("the peak is"));
    assert!(refused(&|p| p.floor = Bytes(0)).contains("the floor is"));
    assert!(refused(&|p| p.storage[0] = None).contains("no buffer"));
    assert!(refused(&|p| p.scratch[1] = None).contains("scratch"));
    assert!(refused(&|p| p.storage.truncate(3)).contains("another graph"));
    assert!(refused(&|p| p.buffers[0].live = 0..1).contains("live range"));
    assert!(refused(&|p| p.buffers[0].offset = Offset(8)).contains("misaligned"));
    assert!(refused(&|p| p.order.truncate(steps - 1)).contains("another graph"));
    let forgotten = refused(&|p| {
        p.order.truncate(steps - 1);
        p.scratch.truncate(steps - 1);
    });
    assert!(forgotten.contains("is not where the caller expects it"), "{forgotten}");
    // Whatever buffer is moved onto another that is live with it, the proof notices.
    for (a, first) in good.buffers.iter().enumerate() {
        for (b, second) in good.buffers.iter().enumerate() {
            let together = first.live.start < second.live.end && second.live.start < first.live.end;
            if a != b && together && first.offset != second.offset {
                refused(&|p| p.buffers[a].offset = p.buffers[b].offset);
            }
        }
    }
}
