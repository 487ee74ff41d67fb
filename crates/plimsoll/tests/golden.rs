//! Whole models of the zoo compute what TensorFlow computes: loss, every gradient, predictions.
//!
//! `golden/make_zoo.py` has set all weights and inputs by a rule that is repeated here, and has stored, for each
//! tensor, its norm and its projection on a pseudo-random vector (`golden/zoo.json`). Two tensors of the same norm and
//! projection that differ all the same are possible but would be a rare accident.

#[path = "golden/layers.rs"]
mod layers;

use plimsoll_exec::{Backend, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll_graph::{ElementType, Graph, Init, OpKind, Role, Source, ValueId};
use plimsoll_memory::Device;
use plimsoll_model::{Mode, Model, zoo};
use plimsoll_plan::{Options, Profile, Residents, plan, verify_arena};
use plimsoll_train::{Loss, Optimizer, training_graph};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

const CPU: CpuBackend = CpuBackend::new(2);

/// Plans a graph, runs it once in a poisoned arena, and gives its outputs.
fn run(graph: &Graph, given: &HashMap<ValueId, Vec<f64>>) -> Vec<Vec<f64>> {
    let target = CPU.target(Profile::default());
    let made = plan(graph, &target, Options::default(), &Residents::default());
    let arena = verify_arena(vec![(graph.clone(), made)], &target).unwrap();
    let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: true, record: false });
    let mut executor = Executor::new(&CPU, arena, &[], &device, graph.name(), settings).unwrap();
    let program = ProgramId::of(0);
    for (&id, contents) in given {
        match graph.tensor(id).element {
            ElementType::I32 => executor.write_i32(program, id, |into| copy(contents, into, |x| x as i32)),
            _ => executor.write_f32(program, id, |into| copy(contents, into, |x| x as f32)),
        }
    }
    executor.run(program).unwrap();
    let read = |&output: &ValueId| executor.read_f32(program, output).iter().map(|&x| f64::from(x)).collect();
    graph.outputs().iter().map(read).collect()
}

fn copy<T>(from: &[f64], to: &mut [T], convert: impl Fn(f64) -> T) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = convert(from));
}

/// What `make_zoo.py` writes.
#[derive(Deserialize)]
struct Golden {
    classes: u64,
    /// Models of the zoo.
    cases: Vec<Case>,
    /// Models of the layers that the zoo does not use.
    layers: Vec<Case>,
}

/// One model at a size and a batch.
#[derive(Deserialize)]
struct Case {
    /// What the zoo calls it, or the name of a function in `layers.rs`.
    spec: String,
    batch: usize,
    input: Range,
    loss: f64,
    /// How far TensorFlow's own float32 gradients are from these, relative to their norms.
    float32_error: f64,
    predictions: Sketch,
    gradients: BTreeMap<String, Gradient>,
}

/// What the input holds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Range {
    Pixels { low: f64, high: f64 },
    Tokens { vocab: u64 },
}

#[derive(Deserialize)]
struct Gradient {
    sketch: Sketch,
}

/// The norm of a tensor and its projection.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Sketch(f64, f64);

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/zoo.json")).unwrap()
}

#[test]
fn every_model_of_the_zoo_has_a_case() {
    let golden = golden();
    for entry in zoo::entries() {
        assert!(golden.cases.iter().any(|case| case.is_of(entry.name)), "{}", entry.name);
    }
}

/// One test a model, so that they run side by side and failures have names.
macro_rules! models {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*
    };
}

models! {
    mlp cnn lenet resnet20 resnet50 vgg16 mobilenet_v2 mobilenet_v3_large efficientnet_b0 densenet121 unet lstm bilstm
    transformer
}

fn check(model: &str) {
    let golden = golden();
    let cases: Vec<&Case> = golden.cases.iter().filter(|case| case.is_of(model)).collect();
    assert!(!cases.is_empty());
    for case in cases {
        case.check(&zoo::find(&case.spec).unwrap(), golden.classes);
    }
}

#[test]
fn layers_outside_the_zoo() {
    let golden = golden();
    let has_model = |case: &Case| layers::MODELS.iter().any(|(name, _)| case.spec == *name);
    assert!(golden.layers.iter().all(has_model));
    for (name, build) in layers::MODELS {
        let case = golden.layers.iter().find(|case| case.spec == name).unwrap();
        case.check(&build(), golden.classes);
    }
}

impl Case {
    fn is_of(&self, model: &str) -> bool {
        self.spec.strip_prefix(model).is_some_and(|rest| rest.starts_with('@'))
    }

    fn check(&self, model: &Model, classes: u64) {
        self.check_training(model, classes);
        self.check_inference(model, classes);
    }

    /// The loss, then the gradient of every parameter: what its update reads.
    fn check_training(&self, model: &Model, classes: u64) {
        let forward = model.lower(self.batch, Mode::Training).unwrap();
        let loss = Loss::SparseCategoricalCrossEntropy { from_logits: false };
        let mut graph = training_graph(forward, &loss.into(), Optimizer::Sgd).unwrap().graph;
        let gradients: Vec<(String, ValueId)> = graph
            .ops()
            .iter()
            .filter(|op| matches!(op.kind, OpKind::Update(_)))
            .map(|op| (graph.value(op.inputs[0]).name.clone(), op.inputs[1]))
            .collect();
        assert_eq!(gradients.len(), self.gradients.len(), "{}", self.spec);
        let before = graph.outputs().len();
        gradients.iter().for_each(|&(_, gradient)| graph.add_output(gradient));
        let outputs = run(&graph, &self.given(&graph, classes));
        let error = (outputs[0][0] - self.loss).abs() / self.loss;
        assert!(error < 1e-5, "{}: the loss is {}, not {}", self.spec, outputs[0][0], self.loss);
        // Some gradients are 0 in theory and rounding errors in practice, such as that of a bias before a batch
        // normalization; they are compared on the scale of the largest one.
        let floor = 1e-3 * self.gradients.values().fold(0.0f64, |largest, g| largest.max(g.sketch.0));
        let tolerance = 1e-5 + 4.0 * self.float32_error;
        for ((name, _), found) in gradients.iter().zip(&outputs[before..]) {
            let wanted = self.gradients[name].sketch;
            self.compare(name, sketch(name, found), wanted, tolerance * (wanted.0 + floor));
        }
    }

    fn check_inference(&self, model: &Model, classes: u64) {
        let graph = model.lower(self.batch, Mode::Inference).unwrap();
        let outputs = run(&graph, &self.given(&graph, classes));
        let found = sketch("predictions", &outputs[0]);
        self.compare("predictions", found, self.predictions, 1e-5 * self.predictions.0);
    }

    fn compare(&self, name: &str, found: Sketch, wanted: Sketch, allowed: f64) {
        let error = (found.0 - wanted.0).abs().max((found.1 - wanted.1).abs());
        assert!(error <= allowed, "{} {name}: {found:?}, not {wanted:?}", self.spec);
    }

    /// The contents of all inputs and persistent values.
    fn given(&self, graph: &Graph, classes: u64) -> HashMap<ValueId, Vec<f64>> {
        let sources = graph.value_ids().filter(|&id| !matches!(graph.value(id).source, Source::Op(_)));
        sources.map(|id| (id, self.contents(graph, id, classes))).collect()
    }

    fn contents(&self, graph: &Graph, id: ValueId, classes: u64) -> Vec<f64> {
        let value = graph.value(id);
        let shape = value.tensor.shape.extents();
        let count = value.tensor.shape.elements();
        match (value.name.as_str(), &value.source) {
            ("x", _) => self.input(value.tensor.element, count),
            ("targets", _) => (0..count as u64).map(|i| (hash(seed("y"), i) % classes) as f64).collect(),
            ("step", _) => vec![1.0],
            ("learning_rate", _) => vec![0.01],
            (name, _) if value.role == Role::Parameter => weights(name, shape),
            (_, Source::Persistent(Init::Constant(start))) => vec![f64::from(*start); count],
            (name, source) => panic!("{name} comes from {source:?}"),
        }
    }

    fn input(&self, element: ElementType, count: usize) -> Vec<f64> {
        match self.input {
            Range::Tokens { vocab } => {
                assert_eq!(element, ElementType::I32);
                (0..count as u64).map(|i| (hash(seed("x"), i) % vocab) as f64).collect()
            }
            Range::Pixels { low, high } => {
                let half = |u: f64| (u + 1.0) / 2.0;
                units("x", count).map(|u| rounded(low + (high - low) * half(u))).collect()
            }
        }
    }
}

/// The rule of `make_zoo.py` for weights.
fn weights(name: &str, shape: &[usize]) -> Vec<f64> {
    let fan = match *shape {
        [rows, columns, _, 1] => rows * columns,
        [ref outer @ .., _] => outer.iter().product(),
        [] => 1,
    };
    let (centre, scale) = match name.rsplit('/').next() {
        Some("gamma") => (0.3, 0.1),
        Some("beta") => (0.5, 0.1),
        Some("kernel" | "recurrent_kernel") => (0.0, (3.0 / fan as f64).sqrt()),
        Some("embeddings") => (0.0, 1.0),
        _ => (0.0, 0.1),
    };
    units(name, shape.iter().product()).map(|u| rounded(centre + scale * u)).collect()
}

fn sketch(name: &str, tensor: &[f64]) -> Sketch {
    let norm = tensor.iter().map(|t| t * t).sum::<f64>().sqrt();
    let directions = units(&format!("{name}/projection"), tensor.len());
    let projection: f64 = tensor.iter().zip(directions).map(|(t, u)| t * u).sum();
    Sketch(norm, projection / (tensor.len() as f64).sqrt())
}

fn rounded(x: f64) -> f64 {
    f64::from(x as f32)
}

/// So many numbers in [-1, 1) that belong to a name.
fn units(name: &str, count: usize) -> impl Iterator<Item = f64> + use<> {
    let seed = seed(name);
    (0..count as u64).map(move |i| (hash(seed, i) >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0)
}

/// FNV-1a of a name.
fn seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// SplitMix64 of the two numbers.
fn hash(seed: u64, index: u64) -> u64 {
    let mut z =
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
