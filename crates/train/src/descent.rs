//! An optimizer with everything that Keras lets one set around it.

use crate::{Optimizer, Schedule};
use plimsoll_graph::op::{Average, Constraint};
use serde::{Deserialize, Serialize};

/// An optimizer with what surrounds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent {
    /// How parameters follow their gradients.
    pub optimizer: Optimizer,
    /// The rest.
    pub settings: Settings,
}

/// What surrounds an optimizer: the settings that all of Keras's have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The share of each parameter, times the learning rate, that is lost in each step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f64>,
    /// How long gradients may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<Clip>,
    /// A moving average of the parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<Average>,
    /// What the loss is multiplied by before it is differentiated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<LossScale>,
    /// Updates are made every so many steps, from the mean of their gradients; nothing is every step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulate: Option<u32>,
    /// How the learning rate changes, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Parameters with one of these in their names are left to Adam by Muon.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// What must hold of parameters after each update, by their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<(String, Constraint)>,
}

/// How long gradients may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clip {
    /// The norm of each parameter's gradient.
    Norm(f64),
    /// The norm of all gradients together.
    GlobalNorm(f64),
    /// Each element.
    Value(f64),
}

/// What the loss is multiplied by before it is differentiated; gradients are divided by it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossScale {
    /// A number.
    Fixed(f64),
    /// A number that is halved when gradients are not finite, in a step that changes nothing, and doubled after so many
    /// steps in a row that did.
    Dynamic {
        /// The first scale.
        initial: f64,
        /// So many steps.
        growth: u32,
    },
}

impl From<Optimizer> for Descent {
    fn from(optimizer: Optimizer) -> Self {
        Self { optimizer, settings: Settings::default() }
    }
}

impl Settings {
    /// Every how many steps an update is made.
    pub fn every(&self) -> u32 {
        self.accumulate.unwrap_or(1)
    }

    /// Whether the scale of the loss changes by itself.
    pub fn scales_itself(&self) -> bool {
        matches!(self.loss_scale, Some(LossScale::Dynamic { .. }))
    }
}

/// The names of slots.
pub mod slot {
    /// The moving average of a parameter.
    pub const AVERAGE: &str = "average";
    /// Gradients that are added up over steps.
    pub const GATHERED: &str = "gathered";
    /// The motion of Muon.
    pub const MOTION: &str = "m";
    /// The scale of the loss, one for all parameters.
    pub const SCALE: &str = "scale";
    /// All of them; the others are named by the rules.
    pub(crate) const ALL: [&str; 13] =
        [AVERAGE, GATHERED, SCALE, "m", "v", "vhat", "u", "a", "d", "l", "r", "c", "z"];
}
