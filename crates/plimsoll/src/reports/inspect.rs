//! Where the memory of a training step goes.

use crate::{Bytes, JobRequest, Note, OpenedJob, Prepared, RequestError};
use plimsoll_graph::{Graph, Role};
use plimsoll_plan::{Options, Usage};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where the memory of a training step goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectReport {
    /// What the step is, in a line.
    pub headline: String,
    /// The model's name.
    pub model: String,
    /// How many samples a step takes.
    pub batch: usize,
    /// The optimizer's name.
    pub optimizer: String,
    /// All parameters, as Keras counts them.
    pub parameters: usize,
    /// Those that are trained.
    pub trainable_parameters: usize,
    /// What the plan takes.
    pub peak_bytes: Bytes,
    /// The most bytes live at once.
    pub floor_bytes: Bytes,
    /// The difference.
    pub fragmentation_bytes: Bytes,
    /// What lives across steps.
    pub persistent_bytes: Bytes,
    /// What the whole run takes, evaluation included; what a budget is compared with.
    pub run_peak_bytes: Bytes,
    /// What may be used, where that was given.
    pub budget_bytes: Option<Bytes>,
    /// The peak without levers, then with one more each.
    pub levers: Vec<LeverReport>,
    /// Live bytes at the peak, by role.
    pub by_role: BTreeMap<String, Bytes>,
    /// The op that runs at the peak.
    pub worst_op: String,
    /// Its layer, or nothing.
    pub worst_layer: String,
    /// The layers, in the order of the model.
    pub layers: Vec<LayerReport>,
    /// What is live at the peak, largest first.
    pub live_at_peak: Vec<HoldingReport>,
    /// How many ops a step has.
    pub ops: usize,
    /// Live bytes during each of them.
    pub timeline: Vec<MomentReport>,
    /// What the caller should know.
    pub notes: Vec<Note>,
}

/// The peak with one more lever.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeverReport {
    /// The lever.
    pub lever: &'static str,
    /// The peak with it and those before it.
    pub peak_bytes: Bytes,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    /// Its name.
    pub name: String,
    /// Its parameters, as Keras counts them.
    pub parameters: usize,
    /// What it has at the peak.
    pub bytes_at_peak: Bytes,
}

/// Something that is live at the peak.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HoldingReport {
    /// The value.
    pub value: String,
    /// Whether it was computed before.
    pub again: bool,
    /// Its layer, or nothing.
    pub layer: String,
    /// Why it exists.
    pub role: String,
    /// How large it is.
    pub bytes: Bytes,
}

/// A point of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MomentReport {
    /// How many ops had begun before.
    pub time: u32,
    /// Live bytes then.
    pub live_bytes: Bytes,
}

impl JobRequest {
    /// Where the memory of its step goes, as planned within a budget or as it comes.
    pub fn inspect(&self, budget: Option<Bytes>) -> Result<InspectReport, RequestError> {
        let OpenedJob { job, notes, .. } = self.open_to_show()?;
        let prepared = match budget {
            Some(budget) => job.prepare_within(budget)?,
            None => job.prepare()?,
        };
        Ok(InspectReport { notes, ..InspectReport::of(&prepared, budget) })
    }
}

impl InspectReport {
    /// The report of a prepared job.
    pub fn of(prepared: &Prepared, budget: Option<Bytes>) -> Self {
        let (plan, usage) = (prepared.plan(), prepared.usage());
        let moment = |(time, &live_bytes): (usize, &Bytes)| MomentReport { time: time as u32, live_bytes };
        Self {
            headline: prepared.headline(),
            model: prepared.job.model.name.clone(),
            batch: prepared.job.batch,
            optimizer: prepared.job.optimizer.name().to_string(),
            parameters: prepared.parameters(),
            trainable_parameters: prepared.trainable_parameters(),
            peak_bytes: plan.peak,
            floor_bytes: plan.floor,
            fragmentation_bytes: plan.fragmentation(),
            persistent_bytes: plan.persistent,
            run_peak_bytes: prepared.peak(),
            budget_bytes: budget,
            levers: levers(prepared),
            by_role: by_role(&usage.by_role),
            layers: layers(prepared.step().graph(), &usage),
            live_at_peak: live(&usage),
            ops: plan.order.len(),
            timeline: usage.timeline.iter().enumerate().map(moment).collect(),
            worst_op: usage.worst_op,
            worst_layer: usage.worst_layer,
            notes: Vec::new(),
        }
    }
}

/// Bytes of every role, those that have none included.
pub fn by_role(bytes: &BTreeMap<Role, Bytes>) -> BTreeMap<String, Bytes> {
    Role::ALL.iter().map(|role| (role.to_string(), bytes.get(role).copied().unwrap_or_default())).collect()
}

fn levers(prepared: &Prepared) -> Vec<LeverReport> {
    let as_written = Options { in_place: false, update_when_ready: false };
    let ready = Options { update_when_ready: true, ..as_written };
    let peak = |options| prepared.step_peak_with(options);
    vec![
        LeverReport { lever: "as written", peak_bytes: peak(as_written) },
        LeverReport { lever: "update when ready", peak_bytes: peak(ready) },
        LeverReport { lever: "in place", peak_bytes: prepared.plan().peak },
    ]
}

fn layers(graph: &Graph, usage: &Usage) -> Vec<LayerReport> {
    let at_peak: BTreeMap<&str, Bytes> =
        usage.by_layer.iter().map(|(layer, bytes)| (layer.as_str(), *bytes)).collect();
    let layer = |name: &String| LayerReport {
        name: name.clone(),
        parameters: layer_parameters(graph, name),
        bytes_at_peak: at_peak.get(name.as_str()).copied().unwrap_or_default(),
    };
    graph.layers().iter().map(layer).collect()
}

fn layer_parameters(graph: &Graph, name: &str) -> usize {
    let owned = graph.persistents().filter(|&id| {
        let value = graph.value(id);
        let counted = matches!(value.role, Role::Parameter | Role::Statistic);
        counted && value.layer.is_some_and(|layer| graph.layer_name(layer) == name)
    });
    owned.map(|id| graph.tensor(id).shape.elements()).sum()
}

fn live(usage: &Usage) -> Vec<HoldingReport> {
    let holding = |holding: &plimsoll_plan::Holding| HoldingReport {
        value: holding.value.clone(),
        again: holding.again,
        layer: holding.layer.clone(),
        role: holding.role.to_string(),
        bytes: holding.bytes,
    };
    usage.live.iter().map(holding).collect()
}
