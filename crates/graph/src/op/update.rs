//! The optimizers' updates: a rule, and what surrounds it.

mod constraint;
mod rule;

pub use constraint::Constraint;
pub use rule::{Magnitude, Rule};

use super::expect::{Inferred, ensure, floats, integers, operands, shape};
use super::{OpKind, Overwrite};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `(parameter, gradient, learning_rate f32[], step i32[], slots..., magnitude?, gate f32[]?) -> (parameter,
/// slots...)`, each output in the place of its input. The formulas are Keras 3's, in its order: decay, the rule, the
/// average, the constraint. `step` counts updates from 1. Where the gate is 0 everything stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// How the parameter follows its gradient.
    pub rule: Rule,
    /// `p -= weight_decay lr p` before the rest.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight_decay: f64,
    /// No element of the gradient counts for more than this; 0 is no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clip_value: f64,
    /// Only every so many steps the rule is applied, and the number of the update counts these.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub every: u32,
    /// A moving average of the parameter: one more slot, the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Average>,
    /// What must hold afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// Whether there is an input with what [`Rule::magnitude`] asks for, of the parameter's shape.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_rows: bool,
}

/// A moving average of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// How much of the old average stays; nothing of it in the first update.
    pub momentum: f64,
    /// After every so many updates the parameter becomes its average; 0 is never.
    pub overwrite: u32,
}

impl From<Rule> for Update {
    fn from(rule: Rule) -> Self {
        Self {
            rule,
            weight_decay: 0.0,
            clip_value: 0.0,
            every: 1,
            average: None,
            constraint: None,
            by_rows: false,
        }
    }
}

impl From<Rule> for OpKind {
    fn from(rule: Rule) -> Self {
        Update::from(rule).into()
    }
}

impl Update {
    /// How much is remembered of a parameter between steps.
    pub fn slot_count(&self) -> usize {
        self.rule.slot_count() + usize::from(self.average.is_some())
    }

    /// The shapes of what is remembered; nothing where there is no such parameter.
    pub fn slots(&self, parameter: &Shape) -> Option<Vec<Shape>> {
        let average = self.average.map(|_| parameter.clone());
        Some(self.rule.slots(parameter)?.into_iter().chain(average).collect())
    }

    /// Where the gate stands among the inputs, if there is one.
    pub fn gate(&self) -> usize {
        4 + self.slot_count() + usize::from(self.by_rows)
    }

    pub(super) fn overwrites(&self) -> Vec<Overwrite> {
        let slots = (0..self.slot_count()).map(|slot| Overwrite { input: 4 + slot, output: 1 + slot });
        [Overwrite { input: 0, output: 0 }].into_iter().chain(slots).collect()
    }

    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [parameter, gradient, learning_rate, step] = operands(inputs.get(..4).unwrap_or(inputs))?;
        floats(&[parameter, gradient, learning_rate])?;
        shape("the gradient", gradient, parameter.shape.clone())?;
        shape("the learning rate", learning_rate, [])?;
        integers(step)?;
        shape("the step", step, [])?;
        self.check_numbers(parameter)?;
        let none = || format!("a parameter of shape {} has no two axes", parameter.shape);
        let (slots, wanted) = (self.slots(&parameter.shape).ok_or_else(none)?, self.gate());
        let fits = inputs.len() == wanted || inputs.len() == wanted + 1;
        ensure(fits, || format!("it takes {wanted} inputs and perhaps a gate, not {}", inputs.len()))?;
        check_gate(inputs.get(wanted))?;
        let rest = &inputs[4..wanted];
        floats(&rest.iter().collect::<Vec<_>>())?;
        for (slot, wanted) in rest.iter().zip(&slots) {
            shape("the slot", slot, wanted.clone())?;
        }
        if let Some(magnitude) = rest.get(slots.len()) {
            shape("the magnitude", magnitude, parameter.shape.clone())?;
        }
        Ok([parameter.clone()].into_iter().chain(slots.into_iter().map(TensorType::f32)).collect())
    }

    fn check_numbers(&self, parameter: &TensorType) -> Result<(), String> {
        let finite = self.weight_decay.is_finite() && self.clip_value.is_finite() && self.clip_value >= 0.0;
        ensure(finite, || "a number of the update is none".to_string())?;
        ensure(self.every > 0, || "updates are made every 0 steps".to_string())?;
        ensure(!self.by_rows || self.rule.magnitude().is_some(), || "the rule asks for no rows".to_string())?;
        let axes = self.constraint.as_ref().map_or(&[][..], Constraint::axes);
        let known = axes.iter().all(|&axis| axis < parameter.shape.rank()) && axes.is_sorted();
        ensure(known, || format!("there are no axes {axes:?}"))
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

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}
