//! The optimizers' update rules, from their definitions.

use super::{Meaning, Tensor};
use plimsoll_graph::op::Update;

impl Meaning for Update {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let (inputs, gate) = inputs.split_at(self.gate());
        let [parameter, gradient, learning_rate, step, slots @ ..] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        if gate.first().is_some_and(|gate| gate.data[0] == 0.0) {
            return [parameter].into_iter().chain(slots).map(|tensor| tensor.data.clone()).collect();
        }
        let mut outputs = vec![Vec::new(); 1 + slots.len()];
        for i in 0..parameter.data.len() {
            let old: Vec<f64> = slots.iter().map(|slot| slot.data[i]).collect();
            let at = At {
                p: parameter.data[i],
                g: gradient.data[i],
                lr: learning_rate.data[0],
                step: step.data[0],
            };
            for (output, new) in outputs.iter_mut().zip(at.updated(*self, &old)) {
                output.push(new);
            }
        }
        outputs
    }
}

/// One element of a parameter.
struct At {
    p: f64,
    g: f64,
    lr: f64,
    step: f64,
}

impl At {
    /// The new parameter, then the new slots.
    fn updated(&self, op: Update, slots: &[f64]) -> Vec<f64> {
        let &Self { p, g, lr, step } = self;
        match op {
            Update::Sgd => vec![p - lr * g],
            Update::Momentum { momentum, nesterov } => {
                let momentum = f64::from(momentum);
                let m = momentum * slots[0] - lr * g;
                let p = if nesterov { p + momentum * m - lr * g } else { p + m };
                vec![p, m]
            }
            Update::RmsProp { rho, epsilon } => {
                let rho = f64::from(rho);
                let v = rho * slots[0] + (1.0 - rho) * g * g;
                vec![p - lr * g / (v + f64::from(epsilon)).sqrt(), v]
            }
            Update::Adam { beta1, beta2, epsilon, weight_decay } => {
                let (beta1, beta2) = (f64::from(beta1), f64::from(beta2));
                let p = p - lr * f64::from(weight_decay) * p;
                let m = slots[0] + (g - slots[0]) * (1.0 - beta1);
                let v = slots[1] + (g * g - slots[1]) * (1.0 - beta2);
                let alpha = lr * (1.0 - beta2.powf(step)).sqrt() / (1.0 - beta1.powf(step));
                vec![p - alpha * m / (v.sqrt() + f64::from(epsilon)), m, v]
            }
        }
    }
}
