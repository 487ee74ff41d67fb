//! Roles: why a value exists, which is how memory is reported.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a value exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Learned by the optimizer; persistent.
    Parameter,
    /// Kept across steps but not learned, such as a moving mean; persistent.
    Statistic,
    /// What the optimizer remembers between steps; persistent.
    OptimizerState,
    /// Gradients added up over the micro-batches of a step; persistent, and cleared by each step.
    Accumulator,
    /// Given by the caller before each step.
    Input,
    /// Computed by the forward pass.
    Activation,
    /// Computed by the backward pass.
    Gradient,
    /// Scratch of a kernel; only buffers have this role, never values.
    Workspace,
}

impl Role {
    /// All roles, in the order in which reports list them.
    pub const ALL: [Role; 8] = [
        Self::Parameter,
        Self::Statistic,
        Self::OptimizerState,
        Self::Accumulator,
        Self::Input,
        Self::Activation,
        Self::Gradient,
        Self::Workspace,
    ];

    /// Whether values of this role live across steps.
    pub fn is_persistent(self) -> bool {
        match self {
            Self::Parameter | Self::Statistic | Self::OptimizerState | Self::Accumulator => true,
            Self::Input | Self::Activation | Self::Gradient | Self::Workspace => false,
        }
    }

    /// The name used in the text form and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Statistic => "statistic",
            Self::OptimizerState => "optimizer_state",
            Self::Accumulator => "accumulator",
            Self::Input => "input",
            Self::Activation => "activation",
            Self::Gradient => "gradient",
            Self::Workspace => "workspace",
        }
    }

    /// The role of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
