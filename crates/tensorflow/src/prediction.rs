//! Predictions: what a step takes in TensorFlow, who holds it, and what limit it needs.

use crate::band::{Band, Evidence};
use crate::executor::{self, Extent, Order};
use crate::limit;
use crate::lowering::lower;
use crate::program::Program;
use crate::setup::{Device, Mode, Setup};
use crate::unrolled;
use crate::variant::{loops, variants};
use plimsoll_graph::{Graph, LayerId, Op, OpKind, Phase, Role};
use plimsoll_trace::{Bytes, Label, Summary, Trace, summarize};
use std::collections::{BTreeMap, HashMap};

/// What the CUDA context and its libraries take of a GPU before the first tensor. An allowance: it depends on driver
/// and card, and was not measured here.
pub const CUDA_CONTEXT: Bytes = Bytes(450 << 20);

/// What cuDNN's convolutions may take as workspace at a time. An allowance: it depends on the algorithm that is chosen,
/// and was not measured here.
pub const CUDNN_WORKSPACE: Bytes = Bytes(64 << 20);

/// What must run within a limit: making the weights and the first step leave free blocks that later steps have to live
/// with.
const RUN: Extent = Extent::FromTheStart { steps: 3 };

/// What TensorFlow would do with a model in one step.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Every allocation of a step; what lives across steps is taken first.
    pub trace: Trace,
    /// Its figures.
    pub summary: Summary,
    /// Between which bounds the live peak lies.
    pub band: Band,
    /// What a batch takes, inputs and targets.
    pub batch: Bytes,
    /// What is assumed beside it and was not measured: a name and a size each.
    pub allowances: Vec<(&'static str, Bytes)>,
    setup: Setup,
    /// Trainings from their start, one for each order that the executor may take, and where gradients are accumulated
    /// also some whose steps apply them.
    runs: Vec<Trace>,
}

/// Predicts a training step of the model whose forward graph this is.
pub fn predict(graph: &Graph, setup: &Setup) -> Prediction {
    let orders = orders(graph, setup);
    let peaks: Vec<Bytes> = orders.iter().map(|order| summarize(&order.step).floor).collect();
    let mut runs: Vec<Trace> =
        orders.iter().map(|order| execute(&order.program, setup, RUN, graph)).collect();
    if setup.accumulate > 1 {
        runs.extend(runs_of_applying(graph, setup));
    }
    let batch = orders[0].program.batch();
    let evidence = evidence(graph, &orders[0].program);
    let usual = orders.into_iter().zip(&peaks).filter(|(order, _)| order.is_usual);
    let (order, _) = usual.max_by_key(|(_, peak)| **peak).expect("some order is usual");
    let (trace, summary) = (order.step.clone(), summarize(&order.step));
    let allowances = match setup.device {
        Device::Cpu => Vec::new(),
        Device::Gpu => vec![("CUDA context", CUDA_CONTEXT), ("cuDNN workspace", CUDNN_WORKSPACE)],
    };
    let band = Band::around(&peaks, summary.floor, setup, evidence);
    Prediction { trace, summary, band, batch: Bytes(batch), allowances, setup: *setup, runs }
}

/// What is known about the layers of a model.
fn evidence(graph: &Graph, program: &Program) -> Evidence {
    let volumes = volumes(graph);
    let mut layers: Vec<LayerId> = program.unsure.iter().chain(&volumes).copied().collect();
    layers.sort_unstable();
    layers.dedup();
    let unsure = layers.into_iter().map(|layer| graph.layer_name(layer).to_string()).collect();
    Evidence { unsure, loops: loops(graph) > 0, volumes: !volumes.is_empty() }
}

/// Layers with convolutions or pools that read more axes than images have, but for those that Keras runs image by
/// image.
fn volumes(graph: &Graph) -> Vec<LayerId> {
    let ops: Vec<&Op> = graph.ops().iter().filter(|op| op.phase == Phase::Forward).collect();
    let mut layers = Vec::new();
    for own in ops.chunk_by(|one, next| one.layer == next.layer) {
        let slides =
            |op: &&Op| matches!(op.kind, OpKind::Conv2d(_) | OpKind::TransposedConv2d(_) | OpKind::Pool2d(_));
        let is_deep = |op: &&Op| op.inputs.iter().any(|&input| graph.tensor(input).shape.rank() > 4);
        let is_unrolled = unrolled::find(graph, own).is_some_and(|(all, _)| all.len() == own.len());
        if own.iter().any(slides) && own.iter().any(is_deep) && !is_unrolled {
            layers.extend(own[0].layer);
        }
    }
    layers
}

impl Prediction {
    /// The most bytes that are live at once.
    pub fn live_peak(&self) -> Bytes {
        self.summary.floor
    }

    /// The peak that TensorFlow's allocator reports when nothing limits it.
    pub fn reported_peak(&self, growth: bool) -> Bytes {
        let peaks = self.runs.iter().map(|run| (summarize(run).floor, run));
        let (_, run) = peaks.max_by_key(|(floor, _)| *floor).expect("there is an order");
        limit::reported_peak(run, self.setup.device, growth)
    }

    /// The smallest limit at which three steps run, in whole MiB, without the allowances: enough for every order that
    /// the executor may take. The order with the most live bytes is not always the one that needs the largest limit.
    pub fn smallest_limit(&self, growth: bool) -> Option<Bytes> {
        let device = self.setup.device;
        self.runs.iter().try_fold(Bytes::ZERO, |most, run| {
            let is_enough = most > Bytes::ZERO && limit::is_enough(run, device, growth, most);
            if is_enough {
                Some(most)
            } else {
                limit::smallest(run, device, growth).map(|limit| limit.max(most))
            }
        })
    }

    /// Live bytes at the peak by role, in the order of roles.
    pub fn by_role(&self) -> BTreeMap<Role, Bytes> {
        let mut by_role = BTreeMap::new();
        for (label, bytes) in self.live() {
            *by_role.entry(Role::parse(&label.role).unwrap_or(Role::Workspace)).or_insert(Bytes::ZERO) +=
                bytes;
        }
        by_role
    }

    /// Live bytes at the peak by layer, the largest first.
    pub fn by_layer(&self) -> Vec<(&str, Bytes)> {
        self.largest(|label| label.layer.as_str())
    }

    /// Live bytes at the peak by what holds them, the largest first.
    pub fn by_holder(&self) -> Vec<(String, Bytes)> {
        self.largest(|label| match label.layer.is_empty() || label.value.contains('/') {
            true => label.value.clone(),
            false => format!("{}/{}", label.layer, label.value),
        })
    }

    fn live(&self) -> impl Iterator<Item = (&Label, Bytes)> {
        self.summary.live_at_floor.iter().map(|&(label, bytes)| (self.trace.label(label), bytes))
    }

    fn largest<'a, K: std::hash::Hash + Ord + Clone>(
        &'a self,
        key: impl Fn(&'a Label) -> K,
    ) -> Vec<(K, Bytes)> {
        let mut sums: HashMap<K, Bytes> = HashMap::new();
        for (label, bytes) in self.live() {
            *sums.entry(key(label)).or_default() += bytes;
        }
        let mut sums: Vec<(K, Bytes)> = sums.into_iter().collect();
        sums.sort_by_key(|(name, bytes)| (std::cmp::Reverse(*bytes), name.clone()));
        sums
    }
}

/// A step in one of the orders that the executor may take.
struct Ordered {
    program: Program,
    step: Trace,
    is_usual: bool,
}

/// A step in each order, without repetitions.
fn orders(graph: &Graph, setup: &Setup) -> Vec<Ordered> {
    let mut orders: Vec<Ordered> = Vec::new();
    for variant in variants(graph, setup) {
        let program = lower(graph, setup, variant);
        let step = execute(&program, setup, Extent::OneStep, graph);
        match orders.iter_mut().find(|other| other.step.events == step.events) {
            Some(other) => other.is_usual |= variant.is_usual,
            None => orders.push(Ordered { program, step, is_usual: variant.is_usual }),
        }
    }
    orders
}

fn execute(program: &Program, setup: &Setup, extent: Extent, graph: &Graph) -> Trace {
    let order = match setup.mode {
        Mode::Graph | Mode::Keras => Order::ReadyStack,
        Mode::Eager => Order::AsWritten,
    };
    executor::execute(program, order, extent, &|layer| graph.layer_name(layer).to_string())
}

/// Every few steps the sums are applied: an update like any other, beside accumulators as large as the weights.
fn runs_of_applying(graph: &Graph, setup: &Setup) -> Vec<Trace> {
    let setup = Setup { accumulate: 1, ..*setup };
    let accumulators = graph.elements_of(Role::Parameter) as u64 * 4;
    let run = |order: Ordered| {
        let mut trace = execute(&order.program, &setup, RUN, graph);
        limit::hold(&mut trace, "gradient accumulators", Bytes(accumulators));
        trace
    };
    orders(graph, &setup).into_iter().map(run).collect()
}
