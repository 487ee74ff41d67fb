//! What TensorFlow would need for a step, as a request and as a report.

use super::{MomentReport, by_role};
use crate::{Bytes, JobError, JobRequest, Note, OpenedJob, RequestError};
use plimsoll_model::Mode as Lowering;
use plimsoll_tensorflow::{
    Band, COVERAGE, Device, ELSEWHERE, Elsewhere, Mode, Needs, Precision, Prediction, Recipe, Setup, predict,
};
use plimsoll_train::{Clip, Settings};
use serde::Serialize;
use std::collections::BTreeMap;

/// What TensorFlow would need for a step, as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictRequest {
    /// The step.
    pub job: JobRequest,
    /// How TensorFlow would run it.
    pub mode: Mode,
    /// What layers compute in; without it, what the model's file says, or float32.
    pub precision: Option<Precision>,
    /// Of how many steps gradients are added up.
    pub accumulate: u32,
    /// Where it runs.
    pub device: Device,
    /// Whether its allocator grows region by region; without it, as is usual for the device.
    pub growth: Option<bool>,
    /// What may be used.
    pub memory: Option<Bytes>,
}

/// What TensorFlow would need for a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictionReport {
    /// What the step is, in a line.
    pub headline: String,
    /// The model's name.
    pub model: String,
    /// How many samples a step takes.
    pub batch: usize,
    /// Who runs it.
    #[serde(rename = "as")]
    pub framework: &'static str,
    /// How.
    pub mode: &'static str,
    /// Where.
    pub device: &'static str,
    /// The optimizer's name.
    pub optimizer: String,
    /// What layers compute in.
    pub precision: &'static str,
    /// Of how many steps gradients are added up.
    pub accumulate: u32,
    /// What tensors ask for.
    pub live_peak_bytes: Bytes,
    /// Between which bounds that lies in `coverage_percent` of the steps that were measured.
    pub live_band: Band,
    /// See `live_band`.
    pub coverage_percent: u32,
    /// How far steps with other settings than those that are predicted have been off; measured on a CPU only.
    pub elsewhere: Vec<Elsewhere>,
    /// The same as chunks of its allocator.
    pub reported_peak_bytes: Bytes,
    /// The limit with which three steps run, if there is one.
    pub smallest_limit_bytes: Option<Bytes>,
    /// What lies outside of the limit and was not measured, by name.
    pub allowances_not_measured: BTreeMap<String, Bytes>,
    /// What a recipe keeps in hand above the limit, because predictions may be too low.
    pub in_hand_bytes: Option<Bytes>,
    /// Input that waits in the same pool.
    pub waiting_bytes: Option<Bytes>,
    /// All of it: the limit, what is kept in hand, what waits and what lies outside.
    pub needed_bytes: Option<Bytes>,
    /// What may be used, where that was given.
    pub budget_bytes: Option<Bytes>,
    /// Whether it is enough, where it was given.
    pub fits: Option<bool>,
    /// The same step here, in float32.
    pub plimsoll_peak_bytes: Bytes,
    /// Live bytes at the peak, by role.
    pub by_role: BTreeMap<String, Bytes>,
    /// What layers have at the peak, largest first.
    pub layers: Vec<ForeignLayerReport>,
    /// What tensors have at the peak, largest first.
    pub live_at_peak: Vec<TensorReport>,
    /// Live bytes over the kernels of a step.
    pub timeline: Vec<MomentReport>,
    /// What the caller should know.
    pub notes: Vec<Note>,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignLayerReport {
    /// Its name.
    pub name: String,
    /// What it has at the peak.
    pub bytes_at_peak: Bytes,
}

/// One tensor, or several of one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TensorReport {
    /// Who holds it.
    pub value: String,
    /// How large it is.
    pub bytes: Bytes,
}

impl PredictRequest {
    /// Predicts.
    pub fn run(&self) -> Result<PredictionReport, RequestError> {
        let opened = self.job.open_to_show()?;
        let recipe = self.recipe(&opened)?;
        let notes = self.notes(&opened);
        let (job, setup) = (opened.job, recipe.setup);
        let graph = job.model.lower(job.batch, Lowering::Training).map_err(JobError::from)?;
        let prediction = predict(&graph, &setup);
        let prepared = job.prepare()?;
        let growth = self.grows();
        let needs = recipe.needs_of(&prediction);
        let needed = needs.as_ref().map(Needs::total);
        Ok(PredictionReport {
            headline: prepared.headline(),
            model: job.model.name.clone(),
            batch: job.batch,
            framework: "tensorflow",
            mode: self.mode.name(),
            device: self.device.name(),
            optimizer: job.optimizer.name().to_string(),
            precision: setup.precision.name(),
            accumulate: self.accumulate,
            live_peak_bytes: prediction.live_peak(),
            live_band: prediction.band.clone(),
            coverage_percent: COVERAGE,
            elsewhere: if self.device == Device::Cpu { ELSEWHERE.to_vec() } else { Vec::new() },
            reported_peak_bytes: prediction.reported_peak(growth),
            smallest_limit_bytes: needs.as_ref().map(|needs| needs.limit),
            allowances_not_measured: allowed_for(&prediction),
            in_hand_bytes: needs.as_ref().map(|needs| needs.in_hand()),
            waiting_bytes: needs.as_ref().map(|needs| needs.waiting),
            needed_bytes: needed,
            budget_bytes: self.memory,
            fits: self.memory.map(|memory| needed.is_some_and(|needed| needed <= memory)),
            plimsoll_peak_bytes: prepared.peak(),
            by_role: by_role(&prediction.by_role()),
            layers: layers(&prediction),
            live_at_peak: tensors(&prediction),
            timeline: timeline(&prediction),
            notes,
        })
    }

    /// The training as it is asked for: a step has the job's batch, and so many steps make an update.
    pub fn recipe(&self, opened: &OpenedJob) -> Result<Recipe, RequestError> {
        let job = &opened.job;
        if let Some(setting) = unknown_setting(&job.settings) {
            return Err(RequestError::TensorFlowSetting { setting });
        }
        let setup = Setup {
            loss: job.only_loss()?,
            optimizer: job.optimizer,
            mode: self.mode,
            precision: self.precision.or(policy_of(opened)).unwrap_or(Precision::Float32),
            accumulate: self.accumulate,
            recompute: 0,
            device: self.device,
        };
        let batch = job.batch.saturating_mul(setup.accumulate.max(1) as usize);
        Ok(Recipe { batch, setup, growth: self.grows() })
    }

    /// What to know of the model's file. That its layers compute in float32 here is not about TensorFlow.
    pub fn notes(&self, opened: &OpenedJob) -> Vec<Note> {
        let mut notes = opened.notes.clone();
        let Some(policy) = policy_of(opened).filter(|_| self.precision.is_none()) else { return notes };
        notes.retain(|note| !matches!(note, Note::File(text) if text.contains("its policy is mixed_")));
        let own: Vec<String> =
            policies(opened).filter(|(_, own)| own == "float32").map(|(name, _)| name).collect();
        let policy = policy.name();
        notes.push(Note::Policy(match own.is_empty() {
            true => format!("predicted with the file's policy, {policy}"),
            false => format!(
                "predicted with the file's policy, {policy}; these layers are float32 in the file and are predicted as {policy}, too: {}",
                own.join(", ")
            ),
        }));
        notes
    }

    fn grows(&self) -> bool {
        self.growth.unwrap_or(self.device == Device::Cpu)
    }
}

/// The mixed policy of the model's file, if one of its layers has one.
fn policy_of(opened: &OpenedJob) -> Option<Precision> {
    policies(opened).find_map(|(_, policy)| Precision::parse(&policy).filter(|policy| policy.is_mixed()))
}

fn policies(opened: &OpenedJob) -> impl Iterator<Item = (String, String)> {
    opened.keras.as_ref().map(|keras| keras.policies()).unwrap_or_default().into_iter()
}

/// A setting of the optimizer whose memory in TensorFlow nobody has measured, by Keras's name.
fn unknown_setting(settings: &Settings) -> Option<&'static str> {
    let Settings { weight_decay, clip, average, loss_scale, accumulate, exclude, .. } = settings;
    let clip = clip.map(|clip| match clip {
        Clip::Norm(_) => "clipnorm",
        Clip::GlobalNorm(_) => "global_clipnorm",
        Clip::Value(_) => "clipvalue",
    });
    let on = |name: &'static str, on: bool| on.then_some(name);
    clip.or(on("weight_decay", weight_decay.is_some()))
        .or(on("use_ema", average.is_some()))
        .or(on("loss scale", loss_scale.is_some()))
        .or(on("gradient_accumulation_steps", accumulate.is_some()))
        .or(on("exclude_layers", !exclude.is_empty()))
}

fn allowed_for(prediction: &Prediction) -> BTreeMap<String, Bytes> {
    prediction.allowances.iter().map(|(name, bytes)| (name.to_string(), *bytes)).collect()
}

fn layers(prediction: &Prediction) -> Vec<ForeignLayerReport> {
    let named = prediction.by_layer().into_iter().filter(|(layer, _)| !layer.is_empty());
    named.map(|(name, bytes_at_peak)| ForeignLayerReport { name: name.to_string(), bytes_at_peak }).collect()
}

fn tensors(prediction: &Prediction) -> Vec<TensorReport> {
    let tensor = |(value, bytes): (String, Bytes)| TensorReport { value, bytes };
    prediction.by_holder().into_iter().map(tensor).collect()
}

fn timeline(prediction: &Prediction) -> Vec<MomentReport> {
    let moments = prediction.summary.timeline.iter();
    moments.map(|moment| MomentReport { time: moment.time.0, live_bytes: moment.live }).collect()
}
