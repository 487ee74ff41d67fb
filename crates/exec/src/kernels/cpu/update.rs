//! The CPU kernels of the optimizers' updates. Parameters and slots are always updated in their place.
//!
//! What Keras computes in float32 is computed so here, in its order of operations; sums over a whole parameter are in
//! float64, cut by its size alone.

mod adafactor;
mod constraint;
mod each;
mod rules;

use super::{Call, CpuKernel, KernelError, Types};
use each::{Gradient, each};
use plimsoll_graph::op::{Average, Rule, Update};

impl CpuKernel for Update {
    /// The outputs of an update take the place of their inputs anyway; nothing else may.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let [_, gradient, learning_rate, step, ..] = call.inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        if call.inputs.get(self.gate()).is_some_and(|gate| gate.f32()[0] == 0.0) {
            return Ok(());
        }
        let magnitude = self.by_rows.then(|| call.inputs[self.gate() - 1].f32());
        let limit = if self.clip_value > 0.0 { self.clip_value as f32 } else { f32::INFINITY };
        let gradient = Gradient { elements: gradient.f32(), magnitude, limit };
        let now = Now::of(self, learning_rate.f32()[0], step.i32()[0]);
        let (parameter, slots) = call.outputs.split_first_mut().expect("there is a parameter");
        let shape = parameter.shape().clone();
        let (slots, average) = slots.split_at_mut(self.rule.slot_count());
        if now.applies && self.weight_decay != 0.0 {
            let decay = self.weight_decay as f32;
            each(parameter.f32(), [], Gradient::NONE, &|p, [], _, _| *p -= *p * decay * now.lr);
        }
        match self.rule {
            Rule::Adafactor { .. } if now.applies => {
                adafactor::run(&self.rule, &shape, parameter.f32(), slots, gradient, now);
            }
            Rule::Gather => rules::gather(parameter.f32(), gradient, now.applies),
            rule if now.applies => rules::run(&rule, parameter.f32(), slots, gradient, now),
            _ => {}
        }
        if let (Some(rule), [average]) = (self.average, average) {
            follow(rule, parameter.f32(), average.f32(), now.update);
        }
        if let Some(rule) = &self.constraint {
            constraint::project(rule, &shape, parameter.f32(), call.scratch);
        }
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        self.constraint.as_ref().map_or(0, |rule| constraint::groups(rule, &types.inputs[0].shape))
    }
}

/// The step as a rule sees it.
#[derive(Clone, Copy)]
struct Now {
    lr: f32,
    /// The number of the update, counted from 1.
    update: i32,
    /// Whether it is made in this step.
    applies: bool,
}

impl Now {
    fn of(op: &Update, lr: f32, step: i32) -> Self {
        let every = op.every as i32;
        Self {
            lr,
            update: step.wrapping_sub(1).div_euclid(every).wrapping_add(1),
            applies: step % every == 0,
        }
    }

    /// The number of the update as the formulas have it.
    fn t(self) -> f32 {
        self.update as f32
    }

    /// 1 minus a power of a number: what a mean that started at 0 has seen. The power is rounded as Keras's is.
    fn seen(self, beta: f64) -> f32 {
        1.0 - power(beta as f32, self.t())
    }
}

/// A power, rounded once.
fn power(base: f32, exponent: f32) -> f32 {
    f64::from(base).powf(f64::from(exponent)) as f32
}

/// The moving average of a parameter, which may replace it.
fn follow(rule: Average, p: &mut [f32], average: &mut [f32], update: i32) {
    let momentum = if update == 1 { 0.0 } else { rule.momentum as f32 };
    let overwrites = rule.overwrite > 0 && update.unsigned_abs().is_multiple_of(rule.overwrite);
    each(p, [average], Gradient::NONE, &|p, [average], _, _| {
        *average = momentum * *average + (1.0 - momentum) * *p;
        if overwrites {
            *p = *average;
        }
    });
}
