//! Values: the tensors that ops read and produce.

use crate::{LayerId, OpId, Role, TensorType};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names a value of one graph; values are numbered in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ValueId(pub u32);

/// A tensor of the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// For people and for finding weights, such as `conv1/kernel`; unique among persistent values and inputs.
    pub name: String,
    /// Shape and element type.
    pub tensor: TensorType,
    /// Why it exists.
    pub role: Role,
    /// Where its contents come from.
    pub source: Source,
    /// The layer it belongs to, if any.
    pub layer: Option<LayerId>,
}

/// Where a value's contents come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The caller writes it before each step.
    Input,
    /// It lives across steps and starts as described.
    Persistent(Init),
    /// An op computes it.
    Op(OpId),
}

/// How a persistent value starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Init {
    /// Every element the same.
    Constant(f32),
    /// Uniform in `[-limit, limit)`.
    Uniform(f32),
    /// Normal with this deviation, redrawn outside two deviations.
    TruncatedNormal(f32),
    /// Random with orthonormal rows or columns, whichever are fewer, as recurrent kernels like it.
    Orthogonal,
    /// An LSTM bias: zeros, but ones for the forget gate, the second quarter.
    ForgetGateOnes,
}

impl ValueId {
    /// The position among the graph's values.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("%{}", self.0))
    }
}
