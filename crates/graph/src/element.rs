//! Element types: what one number of a tensor is.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementType {
    /// IEEE 754 single precision; what kernels compute in.
    F32,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an `F32`.
    Bf16,
    /// Labels, token ids, counters.
    I32,
}

impl ElementType {
    /// All element types, in the order of the enum.
    pub const ALL: [ElementType; 4] = [Self::F32, Self::F16, Self::Bf16, Self::I32];

    /// How many bits one element takes.
    pub fn bits(self) -> u64 {
        match self {
            Self::F32 | Self::I32 => 32,
            Self::F16 | Self::Bf16 => 16,
        }
    }

    /// Whether gradients can flow through values of this type.
    pub fn is_float(self) -> bool {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => true,
            Self::I32 => false,
        }
    }

    /// The name used in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I32 => "i32",
        }
    }

    /// The element type of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
