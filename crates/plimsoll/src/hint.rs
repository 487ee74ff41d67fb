//! Hints: what would help, as values. A door words them: the command line as flags, another as keyword arguments.

use crate::{Bytes, OnShortage};
use plimsoll_train::Change;
use serde::Serialize;
use std::path::PathBuf;

/// What would help.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// Something to know or to look at; it names no setting.
    Say(String),
    /// Something to do, and the settings that do it.
    Set {
        /// What to do.
        text: String,
        /// Each of these does it, or helps to.
        settings: Vec<Setting>,
    },
    /// Changes that were planned, those that fit first; none where nothing brings the peak down.
    Changes(Vec<PlannedChange>),
    /// Something to call.
    Call(Call),
}

/// A setting of a request, and what to set it to; without a value, the setting as such.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// How many samples a step takes.
    Batch(Option<usize>),
    /// Into how many micro-batches a batch is cut.
    MicroBatches(usize),
    /// What layers compute in.
    Precision(String),
    /// How many threads kernels run on.
    Threads(usize),
    /// What is minimized.
    Loss,
    /// How.
    Optimizer(Option<String>),
    /// How far each step goes.
    LearningRate(Option<f32>),
    /// What may be used.
    Memory(Bytes),
    /// The data set.
    Data(String),
    /// Whether memory is taken as it is needed.
    Growth(bool),
    /// What happens when memory runs out in a step.
    OnShortage(OnShortage),
    /// Whether tensors get their memory by a plan.
    Planned,
    /// Whether tensors get their memory from an allocator.
    Eager,
}

/// A change that was planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedChange {
    /// The change.
    pub setting: Setting,
    /// The peak with it.
    pub peak_bytes: Bytes,
    /// Whether that fits.
    pub fits: bool,
}

/// Something that every door can do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// List the models that can be named.
    Zoo,
    /// Look for a plan and write it.
    WritePlan,
    /// Look for this plan again.
    PlanAgain,
    /// Look for a plan of a model within a budget.
    Fit {
        /// The model, as it was written.
        model: String,
        /// How many samples a step takes.
        batch: usize,
        /// What may be used.
        memory: Bytes,
    },
    /// Look for a recipe for TensorFlow again.
    RecipeAgain,
    /// Look for a recipe for TensorFlow within a budget, with everything that keeps the model.
    FitTensorflow {
        /// The model, as it was written.
        model: String,
        /// How many samples a step takes.
        batch: usize,
        /// What may be used.
        memory: Bytes,
    },
    /// Train by a plan on disk.
    TrainPlan(PathBuf),
    /// Write a plan on disk as a script for TensorFlow.
    ExportPlan(PathBuf),
    /// Train a model within a budget.
    Train {
        /// The model, as it was written.
        model: String,
        /// How many samples a step takes.
        batch: usize,
        /// What it needs.
        memory: Bytes,
    },
}

impl Setting {
    /// The setting that makes a change; none for what is done unasked.
    pub fn of(change: Change) -> Option<Self> {
        match change {
            Change::MicroBatches(count) => Some(Self::MicroBatches(count)),
            Change::Threads(count) => Some(Self::Threads(count)),
            Change::Precision(precision) => Some(Self::Precision(precision.name().to_string())),
            Change::Optimizer(optimizer) => Some(Self::Optimizer(Some(optimizer.name().to_string()))),
            Change::Batch(batch) => Some(Self::Batch(Some(batch))),
            Change::UpdateWhenReady
            | Change::InPlace
            | Change::Graph
            | Change::OneRegion
            | Change::Recompute => None,
        }
    }
}

impl Hint {
    /// A sentence without settings.
    pub fn say(text: impl Into<String>) -> Self {
        Self::Say(text.into())
    }

    /// A sentence with settings.
    pub fn set(text: impl Into<String>, settings: impl Into<Vec<Setting>>) -> Self {
        Self::Set { text: text.into(), settings: settings.into() }
    }
}
