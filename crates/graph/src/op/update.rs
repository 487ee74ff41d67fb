//! The optimizers' update rules.

use super::Overwrite;
use super::expect::{Inferred, ensure, floats, integers, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(parameter, gradient, learning_rate f32[], step i32[], slots..., gate f32[]?) -> (parameter, slots...)`, each
/// output in the place of its input. The formulas are Keras 3's; `step` counts updates from 1. Where the gate is 0
/// everything stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// `p -= lr g`
    Sgd,
    /// One slot: `m = momentum m - lr g`, `p += m`, or with Nesterov `p += momentum m - lr g`.
    Momentum {
        /// How much of the old motion stays.
        momentum: f32,
        /// Whether the gradient is looked at after the motion.
        nesterov: bool,
    },
    /// One slot: `v = rho v + (1 - rho) g^2`, `p -= lr g / sqrt(v + epsilon)`.
    RmsProp {
        /// How much of the old mean stays.
        rho: f32,
        /// Keeps the root away from 0.
        epsilon: f32,
    },
    /// Two slots: `m += (g - m)(1 - beta1)`, `v += (g^2 - v)(1 - beta2)`,
    /// `p -= lr sqrt(1 - beta2^step) / (1 - beta1^step) m / (sqrt(v) + epsilon)`.
    Adam {
        /// For the mean of gradients.
        beta1: f32,
        /// For the mean of their squares.
        beta2: f32,
        /// Keeps the root away from 0.
        epsilon: f32,
        /// AdamW: `p -= lr weight_decay p` before the rest; 0 is Adam.
        weight_decay: f32,
    },
}

impl Update {
    /// How many values of the parameter's shape the rule remembers between steps.
    pub fn slots(&self) -> usize {
        match self {
            Self::Sgd => 0,
            Self::Momentum { .. } | Self::RmsProp { .. } => 1,
            Self::Adam { .. } => 2,
        }
    }

    /// Where the gate stands among the inputs, if there is one.
    pub fn gate(&self) -> usize {
        4 + self.slots()
    }

    pub(super) fn overwrites(&self) -> Vec<Overwrite> {
        let slots = (0..self.slots()).map(|slot| Overwrite { input: 4 + slot, output: 1 + slot });
        [Overwrite { input: 0, output: 0 }].into_iter().chain(slots).collect()
    }

    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let wanted = self.gate();
        let fits = inputs.len() == wanted || inputs.len() == wanted + 1;
        ensure(fits, || format!("it takes {wanted} inputs and perhaps a gate, not {}", inputs.len()))?;
        check_gate(inputs.get(wanted))?;
        let [parameter, gradient, learning_rate, step] = operands(&inputs[..4])?;
        floats(&[parameter, gradient, learning_rate])?;
        shape("the gradient", gradient, parameter.shape.clone())?;
        shape("the learning rate", learning_rate, [])?;
        integers(step)?;
        shape("the step", step, [])?;
        for slot in &inputs[4..wanted] {
            floats(&[slot])?;
            shape("the slot", slot, parameter.shape.clone())?;
        }
        Ok(vec![parameter.clone(); 1 + self.slots()])
    }

    /// What is learned is of all samples.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}

pub(super) fn check_gate(gate: Option<&TensorType>) -> Result<(), String> {
    let Some(gate) = gate else { return Ok(()) };
    floats(&[gate])?;
    shape("the gate", gate, [])
}
