//! Plans of a small training graph, and damaged plans that the proof must refuse.

use plimsoll_graph::op::{Binary, MatMul, MovingAverage, Reshape, Rule, Unary, UnaryGradient};
use plimsoll_graph::{Graph, Init, OpId, OpKind, Phase, Role, Site, TensorType, ValueId};
use plimsoll_plan::{
    Buffer, BufferId, Kernels, Options, Plan, PlanError, Residents, Target, VerifiedArena, plan, predict,
    usage, verify_arena,
};
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
    add(&mut graph, Rule::Sgd.into(), &[w, decayed, rate, step], update);
    add(&mut graph, MovingAverage { momentum: 0.9 }.into(), &[moving, dw], update);
    graph.add_output(y);
    graph
}

fn made(options: Options) -> (Graph, Plan) {
    let graph = training_graph();
    let plan = plan(&graph, &target(), options, &Residents::default());
    (graph, plan)
}

fn prove(graph: Graph, plan: Plan) -> Result<VerifiedArena, PlanError> {
    verify_arena(vec![(graph, plan)], &target())
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
            prove(graph, plan).unwrap();
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
    let error = prove(graph, above).unwrap_err().to_string();
    assert!(error.contains("the end of what lives across steps is"), "{error}");
}

type Damage<'a> = &'a dyn Fn(&mut Plan);

#[test]
fn damaged_plans_are_refused() {
    let (graph, good) = made(Options::default());
    let refused = |damage: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        damage(&mut plan);
        prove(graph.clone(), plan).unwrap_err().to_string()
    };
    let steps = good.order.len();
    let far = BufferId(99_999);
    let cases: [(&str, Damage); 30] = [
        ("scratch", &|p| p.order.swap(1, 2)),
        ("runs twice", &|p| p.order[3] = p.order[2]),
        ("runs twice or does not exist", &|p| p.order[3] = OpId(99_999)),
        ("another graph", &|p| p.order.truncate(steps - 1)),
        ("another graph", &|p| p.order.push(OpId(0))),
        ("another graph", &|p| p.storage.truncate(3)),
        ("no buffer", &|p| p.storage[0] = None),
        ("no buffer", &|p| p.storage[5] = Some(far)),
        ("scratch", &|p| p.scratch[1] = None),
        ("scratch", &|p| p.scratch[1] = Some(far)),
        ("scratch", &|p| p.scratch[0] = p.scratch[1]),
        ("scratch", &|p| p.scratch[1] = Some(BufferId(0))),
        ("live range", &|p| p.buffers[0].live = 0..1),
        ("live range", &|p| p.buffers[0].live.start = 7),
        ("live range", &|p| p.buffers[0].live.end = u32::MAX),
        ("live range", &|p| p.buffers[3].live.start = 1),
        ("another size", &|p| p.buffers[0].bytes = Bytes(u64::MAX)),
        ("another size", &|p| p.buffers[0].bytes += Bytes(64)),
        ("another size", &|p| p.buffers[3].bytes = Bytes::ZERO),
        ("another role", &|p| p.buffers[0].role = Role::Parameter),
        ("list of values", &|p| p.buffers[0].values.push(ValueId(99_999))),
        ("list of values", &|p| p.buffers[0].values.clear()),
        ("used by nobody", &|p| p.buffers.push(p.buffers[0].clone())),
        ("misaligned", &|p| p.buffers[0].offset = Offset(p.buffers[0].offset.0 + 8)),
        ("beyond all memory", &|p| p.buffers[0].offset = Offset(u64::MAX - 63)),
        ("the peak is", &|p| p.peak = Bytes(p.peak.0 - 64)),
        ("the floor is", &|p| p.floor = Bytes(0)),
        ("above where what lives across steps ends", &|p| p.persistent = Bytes(64)),
        ("among what lives across steps", &|p| p.persistent = p.peak),
        ("its alignment is 1073741824", &|p| p.alignment = (1 << 30).try_into().unwrap()),
    ];
    for (piece, damage) in cases {
        let error = refused(damage);
        assert!(error.contains(piece), "{piece}: {error}");
    }
    let forgotten = refused(&|p| {
        p.order.truncate(steps - 1);
        p.scratch.truncate(steps - 1);
    });
    assert!(forgotten.contains("never computed"), "{forgotten}");
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

#[test]
fn what_is_overwritten_too_early_is_lost() {
    let mut graph = Graph::new("early");
    let site = Site { layer: None, phase: Phase::Forward };
    let x = graph.add_input("x", TensorType::f32([16])).unwrap();
    let y = graph.add_single(Unary::Relu.into(), &[x], site).unwrap();
    let z = graph.add_single(Binary::Add.into(), &[x, y], site).unwrap();
    graph.add_output(z);
    let options = Options { in_place: false, update_when_ready: true };
    let mut plan = plan(&graph, &target(), options, &Residents::default());
    prove(graph.clone(), plan.clone()).unwrap();
    // Relu can run in place, but `x` is read once more.
    plan.buffers.remove(1);
    (plan.buffers[0].offset, plan.buffers[1].offset) = (Offset(0), Offset(64));
    plan.buffers[0].values.push(y);
    plan.storage = vec![Some(BufferId(0)), Some(BufferId(0)), Some(BufferId(1))];
    (plan.peak, plan.floor) = (Bytes(128), Bytes(128));
    assert_eq!(prove(graph, plan).unwrap_err(), PlanError::Lost { step: 1, value: x });
}

#[test]
fn a_view_in_another_buffer_is_refused() {
    let mut graph = Graph::new("view");
    let site = Site { layer: None, phase: Phase::Forward };
    let x = graph.add_input("x", TensorType::f32([2, 8])).unwrap();
    let flat = graph.add_single(Reshape { shape: [16].into() }.into(), &[x], site).unwrap();
    graph.add_output(flat);
    let mut plan = plan(&graph, &target(), Options::default(), &Residents::default());
    prove(graph.clone(), plan.clone()).unwrap();
    // The reshape copies nothing, so nobody would ever write these bytes.
    let mut other = plan.buffers[0].clone();
    plan.buffers[0].values.truncate(1);
    (other.offset, other.values, other.role) = (Offset(64), vec![flat], Role::Activation);
    plan.buffers.push(other);
    plan.storage[flat.index()] = Some(BufferId(1));
    (plan.peak, plan.floor) = (Bytes(128), Bytes(128));
    assert_eq!(prove(graph, plan).unwrap_err(), PlanError::BadView { step: 0, value: flat });
}

/// What a second plan with the same weights may do, and what it may not.
#[test]
fn plans_of_one_arena_are_proved_together() {
    let (graph, first) = made(Options::default());
    let error = |change: &dyn Fn(&mut Graph, &mut Plan)| {
        let (mut other, mut second) = (graph.clone(), first.clone());
        change(&mut other, &mut second);
        let plans = vec![(graph.clone(), first.clone()), (other, second)];
        verify_arena(plans, &target()).map(|arena| arena.peak()).unwrap_err()
    };
    let [w, moving] = [3, 4].map(BufferId);
    let places = [w, moving].map(|id| first.buffer(id).offset);
    let swapped = error(&|_, plan| {
        plan.buffers[3].offset = places[1];
        plan.buffers[4].offset = places[0];
    });
    assert_eq!(swapped, PlanError::Moved { name: "w".to_string(), one: places[0], other: places[1] });
    let renamed = error(&|graph, _| graph.rename(ValueId(3), "v"));
    assert_eq!(renamed, PlanError::Shared { one: "v".to_string(), other: "w".to_string() });
    let raised = error(&|_, plan| {
        let transients = plan.buffers.iter_mut().filter(|buffer| !buffer.role.is_persistent());
        transients.for_each(|buffer| buffer.offset = buffer.offset + Bytes(64));
        (plan.persistent, plan.peak) = (plan.persistent + Bytes(64), plan.peak + Bytes(64));
    });
    assert!(matches!(raised, PlanError::OtherPersistent { .. }), "{raised}");
    assert!(matches!(verify_arena(Vec::new(), &target()), Err(PlanError::NoPlan)));
    let alone = || verify_arena(vec![(graph.clone(), first.clone())], &target()).unwrap();
    let joined = VerifiedArena::join([&alone(), &alone()]).unwrap();
    assert_eq!((joined.plans().len(), joined.peak()), (2, first.peak));
    assert_eq!((joined.persistent(), joined.page()), (first.persistent, None));
}

#[test]
fn pages_and_bindings_are_honoured_or_refused() {
    let graph = training_graph();
    let with = |page: Option<u64>, binding: Option<u64>| {
        let target = Target { page: page.map(Bytes), binding: binding.map(Bytes), ..target() };
        let made = plan(&graph, &target, Options::default(), &Residents::default());
        verify_arena(vec![(graph.clone(), made.clone())], &target).map(|_| made)
    };
    let whole = with(None, None).unwrap();
    assert_eq!(with(Some(1 << 20), None).unwrap().buffers, whole.buffers);
    for page in [1024, 1088, 1536, 2048] {
        let made = with(Some(page), None).unwrap();
        let crosses = |buffer: &Buffer| buffer.offset.0 / page != (buffer.end().0 - 1) / page;
        assert!(!made.buffers.iter().any(crosses));
        assert!(made.floor == whole.floor && made.floor <= made.peak);
    }
    let error = |page, binding| with(page, binding).unwrap_err().to_string();
    assert_eq!(error(Some(960), None), "`w` takes 1.00 KiB, but a page holds 960 B");
    assert_eq!(error(None, Some(512)), "`w` takes 1.00 KiB, but a binding holds 512 B");
    assert!(error(Some(1000), None).contains("whole multiples of 64"));
    assert!(error(Some(0), None).contains("whole multiples of 64"));
    // A plan for one piece of memory is none for pages.
    let paged = Target { page: Some(Bytes(2048)), ..target() };
    let error = verify_arena(vec![(graph.clone(), whole)], &paged).unwrap_err().to_string();
    assert_eq!(error, "the plan is for another target: its page is none, here it is 2048");
}
