//! Predictions: what a step takes in TensorFlow, who holds it, and what limit it needs.

use crate::executor::{Extent, Order, execute};
use crate::limit;
use crate::lowering::lower;
use crate::setup::{Device, Mode, Setup};
use plimsoll_graph::{Graph, OpKind, Role};
use plimsoll_trace::{Bytes, Label, Summary, Trace, summarize};
use plimsoll_train::Optimizer;
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
    /// A training from its start and, where gradients are accumulated, one whose steps apply them.
    runs: Vec<Trace>,
}

/// Predicts a training step of the model whose forward graph this is.
pub fn predict(graph: &Graph, setup: &Setup) -> Prediction {
    let trace = trace(graph, setup, Extent::OneStep);
    let summary = summarize(&trace);
    let mut runs = vec![self::trace(graph, setup, RUN)];
    if setup.accumulate > 1 {
        runs.push(trace_of_applying(graph, setup));
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
        limit::reported_peak(&self.runs[0], self.setup.device, growth)
    }

    /// The smallest limit at which three steps run, in whole MiB, without the allowances.
    pub fn smallest_limit(&self, growth: bool) -> Option<Bytes> {
        let limits = self.runs.iter().map(|run| limit::smallest(run, self.setup.device, growth));
        limits.collect::<Option<Vec<Bytes>>>()?.into_iter().max()
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

fn trace(graph: &Graph, setup: &Setup, extent: Extent) -> Trace {
    let order = match setup.mode {
        Mode::Graph | Mode::Keras => Order::ReadyStack,
        Mode::Eager => Order::AsWritten,
    };
    let layer_name = |layer| graph.layer_name(layer).to_string();
    let traces = nearest(graph, setup)
        .iter()
        .map(|&nearest| execute(&lower(graph, setup, nearest), order, extent, &layer_name));
    traces.max_by_key(|trace| summarize(trace).floor).expect("there are several orders")
}

/// How many layers after the first may count as near the input, whose kernels' gradients come before that of their
/// input. It depends on how many nodes Grappler deletes. In chains of layers without normalization it is always the
/// same number; where there are more nodes several are tried, and the one that takes most is predicted.
fn nearest(graph: &Graph, setup: &Setup) -> &'static [usize] {
    let normalized =
        graph.ops().iter().any(|op| matches!(op.kind, OpKind::BatchNorm(_) | OpKind::LayerNorm(_)));
    let plain = setup.mode == Mode::Graph && !setup.precision.is_mixed() && setup.accumulate <= 1;
    match setup.optimizer {
        Optimizer::Sgd | Optimizer::Adam { .. } if normalized || !plain => &[1, 3, 5],
        Optimizer::Sgd => &[4],
        Optimizer::Adam { .. } => &[3],
        // What these compute before the first layer changes the order as far as the output (VGG16 with momentum: its
        // dense layers are like those near the input).
        _ => &[1, 3, 5, usize::MAX],
    }
}

/// Every few steps the sums are applied: an update like any other, beside accumulators as large as the weights.
fn trace_of_applying(graph: &Graph, setup: &Setup) -> Trace {
    let mut trace = trace(graph, &Setup { accumulate: 1, ..*setup }, RUN);
    let accumulators = graph.elements_of(Role::Parameter) as u64 * 4;
    limit::hold(&mut trace, "gradient accumulators", Bytes(accumulators));
    trace
}
