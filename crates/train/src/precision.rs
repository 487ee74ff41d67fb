//! What layers compute in: the element type of activations and gradients, by Keras's names for its dtype policies.

use serde::{Deserialize, Serialize};

/// Keras's dtype policy: what layers compute in. Variables are always float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Single precision.
    Float32,
    /// Half precision with a scaled loss.
    MixedFloat16,
    /// The upper half of single precision.
    MixedBfloat16,
}

impl Precision {
    /// All policies.
    pub const ALL: [Precision; 3] = [Self::Float32, Self::MixedFloat16, Self::MixedBfloat16];

    /// Keras's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::MixedFloat16 => "mixed_float16",
            Self::MixedBfloat16 => "mixed_bfloat16",
        }
    }

    /// The policy of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// Whether layers compute in another type than variables have.
    pub fn is_mixed(self) -> bool {
        self != Self::Float32
    }

    /// The bytes of one element of an activation.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Float32 => 4,
            Self::MixedFloat16 | Self::MixedBfloat16 => 2,
        }
    }
}
