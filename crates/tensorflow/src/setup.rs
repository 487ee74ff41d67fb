//! What a user can choose about training in TensorFlow.

use plimsoll_train::{Loss, Optimizer, Precision};
use serde::{Deserialize, Serialize};

/// Everything that decides what TensorFlow does with a model, beside the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// What is minimized.
    pub loss: Loss,
    /// How parameters follow their gradients.
    pub optimizer: Optimizer,
    /// Who runs the step.
    pub mode: Mode,
    /// Keras's dtype policy.
    pub precision: Precision,
    /// How many steps' gradients are added up before the weights change; 1 is every step.
    pub accumulate: u32,
    /// Into how many parts the model is cut that are computed again for their gradients; 0 keeps everything.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recompute: u32,
    /// Where it runs.
    pub device: Device,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Default for Setup {
    /// Adam on a classifier in float32, in a `tf.function` on the CPU.
    fn default() -> Self {
        Self {
            loss: Loss::SparseCategoricalCrossEntropy { from_logits: false },
            optimizer: Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-7, amsgrad: false },
            mode: Mode::Graph,
            precision: Precision::Float32,
            accumulate: 1,
            recompute: 0,
            device: Device::Cpu,
        }
    }
}

/// Who runs the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A `tf.function` with a `GradientTape`.
    Graph,
    /// The same without `tf.function`.
    Eager,
    /// `model.fit`, which makes a `tf.function` of its own.
    Keras,
}

/// Where the step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// TensorFlow's CPU kernels, with their im2col buffers.
    Cpu,
    /// A GPU: no im2col buffers.
    Gpu,
}

impl Device {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 3] = [Self::Graph, Self::Eager, Self::Keras];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Eager => "eager",
            Self::Keras => "keras",
        }
    }

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
