//! The CPU kernels of the optimizers' update rules. Parameters and slots are always updated in their place.

use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::Update;
use rayon::prelude::*;

impl CpuKernel for Update {
    /// The outputs of an update take the place of their inputs anyway; nothing else may.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let [_, gradient, learning_rate, step, ..] = call.inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        if call.inputs.get(self.gate()).is_some_and(|gate| gate.f32()[0] == 0.0) {
            return Ok(());
        }
        let (gradient, lr, step) = (gradient.f32(), learning_rate.f32()[0], step.i32()[0]);
        match (*self, call.outputs) {
            (Update::Sgd, [p]) => {
                let pieces = p.f32().par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE));
                pieces.for_each(|(p, g)| p.iter_mut().zip(g).for_each(|(p, g)| *p -= lr * g));
            }
            (Update::Momentum { momentum, nesterov: false }, [p, m]) => {
                with_slot(p.f32(), m.f32(), gradient, |p, m, g| {
                    *m = momentum * *m - lr * g;
                    *p += *m;
                });
            }
            (Update::Momentum { momentum, nesterov: true }, [p, m]) => {
                with_slot(p.f32(), m.f32(), gradient, |p, m, g| {
                    *m = momentum * *m - lr * g;
                    *p += momentum * *m - lr * g;
                });
            }
            (Update::RmsProp { rho, epsilon }, [p, v]) => {
                with_slot(p.f32(), v.f32(), gradient, |p, v, g| {
                    *v = rho * *v + (1.0 - rho) * g * g;
                    *p -= lr * g / (*v + epsilon).sqrt();
                });
            }
            (Update::Adam { beta1, beta2, epsilon, weight_decay }, [p, m, v]) => {
                let alpha = adam_rate(lr, [beta1, beta2], step);
                with_slots(p.f32(), m.f32(), v.f32(), gradient, |p, m, v, g| {
                    *m += (g - *m) * (1.0 - beta1);
                    *v += (g * g - *v) * (1.0 - beta2);
                    *p -= lr * weight_decay * *p;
                    *p -= alpha * *m / (v.sqrt() + epsilon);
                });
            }
            _ => unreachable!("the shape rule has counted the slots"),
        }
        Ok(())
    }
}

/// The learning rate with the correction for means that started at 0; in float64, since the powers are close to 1.
fn adam_rate(learning_rate: f32, betas: [f32; 2], step: i32) -> f32 {
    let [left1, left2] = betas.map(|beta| 1.0 - f64::from(beta).powi(step));
    (f64::from(learning_rate) * left2.sqrt() / left1) as f32
}

fn with_slot(p: &mut [f32], slot: &mut [f32], g: &[f32], f: impl Fn(&mut f32, &mut f32, f32) + Sync) {
    let pieces = p.par_chunks_mut(PIECE).zip(slot.par_chunks_mut(PIECE)).zip(g.par_chunks(PIECE));
    pieces.for_each(|((p, slot), g)| {
        p.iter_mut().zip(slot).zip(g).for_each(|((p, slot), g)| f(p, slot, *g));
    });
}

fn with_slots(
    p: &mut [f32],
    m: &mut [f32],
    v: &mut [f32],
    g: &[f32],
    f: impl Fn(&mut f32, &mut f32, &mut f32, f32) + Sync,
) {
    let slots = m.par_chunks_mut(PIECE).zip(v.par_chunks_mut(PIECE));
    p.par_chunks_mut(PIECE).zip(slots).zip(g.par_chunks(PIECE)).for_each(|((p, (m, v)), g)| {
        p.iter_mut().zip(m).zip(v).zip(g).for_each(|(((p, m), v), g)| f(p, m, v, *g));
    });
}
