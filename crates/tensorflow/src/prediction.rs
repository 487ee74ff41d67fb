//! Predictions: what a step takes in TensorFlow, who holds it, and what limit it needs.

use crate::executor::{Extent, Order, execute};
use crate::limit;
use crate::lowering::lower;
use crate::setup::{Device, Mode, Setup};
use crate::variant::{Variant, variants};
use plimsoll_graph::{Graph, Role};
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
    /// What is assumed beside it and was not measured: a name and a size each.
    pub allowances: Vec<(&'static str, Bytes)>,
    setup: Setup,
    /// Trainings from their start, one for each order that the executor may take, and where gradients are accumulated
    /// also some whose steps apply them.
    runs: Vec<Trace>,
}

/// Predicts a training step of the model whose forward graph this is.
pub fn predict(graph: &Graph, setup: &Setup) -> Prediction {
    let trace = largest(traces(graph, setup, Extent::OneStep, |variant| variant.is_usual));
    let summary = summarize(&trace);
    let mut runs = traces(graph, setup, RUN, |_| true);
    if setup.accumulate > 1 {
        runs.extend(traces_of_applying(graph, setup));
    }
    let allowances = match setup.device {
        Device::Cpu => Vec::new(),
        Device::Gpu => vec![("CUDA context", CUDA_CONTEXT), ("cuDNN workspace", CUDNN_WORKSPACE)],
    };
    Prediction { trace, summary, allowances, setup: *setup, runs }
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

/// What happens in each order that the executor may take, without repetitions.
fn traces(graph: &Graph, setup: &Setup, extent: Extent, which: fn(&Variant) -> bool) -> Vec<Trace> {
    let order = match setup.mode {
        Mode::Graph | Mode::Keras => Order::ReadyStack,
        Mode::Eager => Order::AsWritten,
    };
    let layer_name = |layer| graph.layer_name(layer).to_string();
    let mut traces: Vec<Trace> = Vec::new();
    for variant in variants(graph, setup).into_iter().filter(which) {
        let trace = execute(&lower(graph, setup, variant), order, extent, &layer_name);
        if traces.iter().all(|other| other.events != trace.events) {
            traces.push(trace);
        }
    }
    traces
}

/// The one with the most live bytes.
fn largest(traces: Vec<Trace>) -> Trace {
    traces.into_iter().max_by_key(|trace| summarize(trace).floor).expect("there is an order")
}

/// Every few steps the sums are applied: an update like any other, beside accumulators as large as the weights.
fn traces_of_applying(graph: &Graph, setup: &Setup) -> Vec<Trace> {
    let mut traces = traces(graph, &Setup { accumulate: 1, ..*setup }, RUN, |_| true);
    let accumulators = graph.elements_of(Role::Parameter) as u64 * 4;
    traces.iter_mut().for_each(|trace| limit::hold(trace, "gradient accumulators", Bytes(accumulators)));
    traces
}
