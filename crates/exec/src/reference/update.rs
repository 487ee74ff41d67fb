//! The optimizers' updates, from their definitions.

use super::{Meaning, Tensor};
use plimsoll_graph::op::{Constraint, Magnitude, Rule, Update};

impl Meaning for Update {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let (inputs, gate) = inputs.split_at(self.gate());
        let [parameter, gradient, learning_rate, step, others @ ..] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (slots, magnitude) = others.split_at(self.slot_count());
        let mut slots: Vec<Vec<f64>> = slots.iter().map(|slot| slot.data.clone()).collect();
        let mut p = parameter.data.clone();
        if gate.first().is_some_and(|gate| gate.data[0] == 0.0) {
            return [p].into_iter().chain(slots).collect();
        }
        let g: Vec<f64> = gradient.data.iter().map(|&g| clipped(g, self.clip_value)).collect();
        let own = |g: &f64| match self.rule.magnitude() {
            Some(Magnitude::Absolutes) => g.abs(),
            Some(Magnitude::Squares) | None => g * g,
        };
        let s = magnitude.first().map_or(g.iter().map(own).collect(), |known| known.data.clone());
        let (lr, step, every) = (learning_rate.data[0], step.data[0], f64::from(self.every));
        let (t, applies) = (((step - 1.0) / every).floor() + 1.0, step % every == 0.0);
        let at = At { shape: parameter.tensor.shape.extents(), g: &g, s: &s, lr, t };
        if applies {
            if self.weight_decay != 0.0 {
                p.iter_mut().for_each(|p| *p -= lr * self.weight_decay * *p);
            }
            at.apply(self.rule, &mut p, &mut slots[..self.rule.slot_count()]);
        } else if self.rule == Rule::Gather {
            p.iter_mut().zip(&g).for_each(|(p, g)| *p += g);
        }
        if let (Some(average), Some(slot)) = (self.average, slots.last_mut()) {
            let momentum = if t == 1.0 { 0.0 } else { average.momentum };
            for (p, slot) in p.iter_mut().zip(slot) {
                *slot = momentum * *slot + (1.0 - momentum) * *p;
                if average.overwrite > 0 && t % f64::from(average.overwrite) == 0.0 {
                    *p = *slot;
                }
            }
        }
        if let Some(rule) = &self.constraint {
            project(rule, at.shape, &mut p);
        }
        [p].into_iter().chain(slots).collect()
    }
}

fn clipped(g: f64, limit: f64) -> f64 {
    if limit > 0.0 { g.clamp(-limit, limit) } else { g }
}

/// One step of one parameter.
struct At<'a> {
    shape: &'a [usize],
    g: &'a [f64],
    /// The squares or absolute values.
    s: &'a [f64],
    lr: f64,
    t: f64,
}

impl At<'_> {
    fn apply(&self, rule: Rule, p: &mut [f64], slots: &mut [Vec<f64>]) {
        match rule {
            Rule::Lamb { beta1, beta2, epsilon } => self.lamb([beta1, beta2], epsilon, p, slots),
            Rule::Adafactor { decay, epsilon1, epsilon2, threshold, .. } => {
                self.adafactor([decay, epsilon1, epsilon2, threshold], p, slots);
            }
            Rule::Nadam { beta1, .. } => {
                slots[2][0] *= beta1 * (1.0 - 0.5 * 0.96f64.powf(self.t));
                self.elements(rule, p, slots);
            }
            rule => self.elements(rule, p, slots),
        }
    }

    fn elements(&self, rule: Rule, p: &mut [f64], slots: &mut [Vec<f64>]) {
        for i in 0..p.len() {
            // A slot that is one number is the same for all.
            let mut at: Vec<f64> = slots.iter().map(|slot| slot[i % slot.len()]).collect();
            self.element(rule, &mut p[i], &mut at, self.g[i], self.s[i]);
            slots
                .iter_mut()
                .zip(at)
                .filter(|(slot, _)| slot.len() == p.len())
                .for_each(|(slot, x)| slot[i] = x);
        }
    }

    fn element(&self, rule: Rule, p: &mut f64, slot: &mut [f64], g: f64, s: f64) {
        let (lr, t) = (self.lr, self.t);
        match rule {
            Rule::Sgd => *p -= lr * g,
            Rule::Motion { momentum } => *p = momentum * *p + g,
            Rule::Gather => *p = 0.0,
            Rule::Scale { .. } if g == 0.0 => (*p, slot[0]) = (*p / 2.0, 0.0),
            Rule::Scale { growth } => {
                slot[0] += 1.0;
                if slot[0] == f64::from(growth) {
                    (*p, slot[0]) = (*p * 2.0, 0.0);
                }
            }
            Rule::Momentum { momentum, nesterov } => {
                slot[0] = momentum * slot[0] - lr * g;
                *p += if nesterov { momentum * slot[0] - lr * g } else { slot[0] };
            }
            Rule::RmsProp { rho, epsilon, momentum, centered } => {
                slot[0] = rho * slot[0] + (1.0 - rho) * s;
                let mut mean = 0.0;
                if centered {
                    let last = slot.len() - 1;
                    slot[last] = rho * slot[last] + (1.0 - rho) * g;
                    mean = slot[last];
                }
                let step = lr * g / (slot[0] - mean * mean + epsilon).sqrt();
                if momentum > 0.0 {
                    slot[1] = momentum * slot[1] + step;
                }
                *p -= if momentum > 0.0 { slot[1] } else { step };
            }
            Rule::Adam { beta1, beta2, epsilon, amsgrad } => {
                means([beta1, beta2], slot, g, s);
                let mut v = slot[1];
                if amsgrad {
                    slot[2] = slot[2].max(v);
                    v = slot[2];
                }
                let alpha = lr * (1.0 - beta2.powf(t)).sqrt() / (1.0 - beta1.powf(t));
                *p -= alpha * slot[0] / (v.sqrt() + epsilon);
            }
            Rule::Nadam { beta1, beta2, epsilon } => {
                means([beta1, beta2], slot, g, s);
                let u = |t: f64| beta1 * (1.0 - 0.5 * 0.96f64.powf(t));
                let product = slot[2];
                let mean =
                    u(t + 1.0) * slot[0] / (1.0 - product * u(t + 1.0)) + (1.0 - u(t)) * g / (1.0 - product);
                *p -= lr * mean / ((slot[1] / (1.0 - beta2.powf(t))).sqrt() + epsilon);
            }
            Rule::Adamax { beta1, beta2, epsilon } => {
                slot[0] += (g - slot[0]) * (1.0 - beta1);
                slot[1] = (beta2 * slot[1]).max(s);
                *p -= lr * slot[0] / ((1.0 - beta1.powf(t)) * (slot[1] + epsilon));
            }
            Rule::Adagrad { epsilon } => {
                slot[0] += s;
                *p -= lr * g / (slot[0] + epsilon).sqrt();
            }
            Rule::Adadelta { rho, epsilon } => {
                slot[0] = rho * slot[0] + (1.0 - rho) * s;
                let ratio = (slot[1] + epsilon).sqrt() / (slot[0] + epsilon).sqrt();
                slot[1] = rho * slot[1] + (1.0 - rho) * ratio * ratio * s;
                *p -= lr * ratio * g;
            }
            Rule::Ftrl { power, l1, l2, shrinkage, beta } => {
                let next = slot[0] + s;
                let sigma = (next.powf(-power) - slot[0].powf(-power)) / lr;
                slot[1] += g + 2.0 * shrinkage * *p - sigma * *p;
                let quadratic = next.powf(-power) / lr + 2.0 * (l2 + beta / (2.0 * lr));
                *p = (slot[1].clamp(-l1, l1) - slot[1]) / quadratic;
                slot[0] = next;
            }
            Rule::Lion { beta1, beta2 } => {
                let c = beta1 * slot[0] + (1.0 - beta1) * g;
                *p -= lr * if c == 0.0 || c.is_nan() { c } else { c.signum() };
                slot[0] = beta2 * slot[0] + (1.0 - beta2) * g;
            }
            Rule::ScheduleFree { beta1, beta2, epsilon, warmup } => {
                let rise = if warmup > 0 { (t / f64::from(warmup)).min(1.0) } else { 1.0 };
                slot[1] += (s - slot[1]) * (1.0 - beta2);
                slot[0] -= lr * rise * g / ((slot[1] / (1.0 - beta2.powf(t))).sqrt() + epsilon);
                let old = (*p - (1.0 - beta1) * slot[0]) / beta1;
                let average = old + (slot[0] - old) / t;
                *p = (1.0 - beta1) * slot[0] + beta1 * average;
            }
            Rule::Lamb { .. } | Rule::Adafactor { .. } => unreachable!("they look at whole parameters"),
        }
    }

    fn lamb(&self, betas: [f64; 2], epsilon: f64, p: &mut [f64], slots: &mut [Vec<f64>]) {
        let [m, v, ..] = slots else { unreachable!("the shape rule has counted the slots") };
        let [seen1, seen2] = betas.map(|beta| 1.0 - beta.powf(self.t));
        let mut steps = Vec::with_capacity(p.len());
        for (((m, v), &g), &s) in m.iter_mut().zip(v).zip(self.g).zip(self.s) {
            let mut slot = [*m, *v];
            means(betas, &mut slot, g, s);
            [*m, *v] = slot;
            steps.push(slot[0] / seen1 / ((slot[1] / seen2).sqrt() + epsilon));
        }
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (own, length) = (norm(p), norm(&steps));
        let ratio = if own > 0.0 && length > 0.0 { own / length } else { 1.0 };
        p.iter_mut().zip(steps).for_each(|(p, step)| *p -= ratio * self.lr * step);
    }

    fn adafactor(
        &self,
        [decay, epsilon1, epsilon2, threshold]: [f64; 4],
        p: &mut [f64],
        slots: &mut [Vec<f64>],
    ) {
        let root_mean = |x: &mut dyn Iterator<Item = f64>| (x.sum::<f64>() / self.g.len() as f64).sqrt();
        let alpha = root_mean(&mut p.iter().map(|p| p * p)).max(epsilon2) * self.lr.min(1.0 / self.t.sqrt());
        let old = 1.0 - self.t.powf(decay);
        let squares: Vec<f64> = self.s.iter().map(|s| s + epsilon1).collect();
        let (v, factors) = slots.split_last_mut().expect("there is a slot");
        match (factors, self.shape) {
            ([r, c], &[.., rows, columns]) => {
                let position = |row: usize, column: usize| row * columns + column;
                for (row, r) in r.iter_mut().enumerate() {
                    let mean = (0..columns).map(|column| squares[position(row, column)]).sum::<f64>()
                        / columns as f64;
                    *r = old * *r + (1.0 - old) * mean;
                }
                for (at, c) in c.iter_mut().enumerate() {
                    let (matrix, column) = (at / columns, at % columns);
                    let mean =
                        (0..rows).map(|row| squares[position(matrix * rows + row, column)]).sum::<f64>()
                            / rows as f64;
                    *c = old * *c + (1.0 - old) * mean;
                }
                for (i, v) in v.iter_mut().enumerate() {
                    let (row, column) = (i / columns, i % columns);
                    let matrix = row / rows;
                    let mean = r[matrix * rows..(matrix + 1) * rows].iter().sum::<f64>() / rows as f64;
                    *v = r[row] / mean * c[matrix * columns + column];
                }
            }
            _ => v.iter_mut().zip(&squares).for_each(|(v, s)| *v = old * *v + (1.0 - old) * s),
        }
        let least = (root_mean(&mut self.s.iter().zip(&*v).map(|(s, v)| s / v)) / threshold).max(1.0);
        for ((p, g), v) in p.iter_mut().zip(self.g).zip(&*v) {
            *p -= alpha * g / v.sqrt() / least;
        }
    }
}

/// Adam's moving means of the gradient and of its square.
fn means([beta1, beta2]: [f64; 2], slot: &mut [f64], g: f64, s: f64) {
    slot[0] += (g - slot[0]) * (1.0 - beta1);
    slot[1] += (s - slot[1]) * (1.0 - beta2);
}

/// Projects a parameter; the elements of a vector are those whose positions differ along the rule's axes only.
fn project(rule: &Constraint, shape: &[usize], p: &mut [f64]) {
    if *rule == Constraint::NonNegative {
        return p.iter_mut().for_each(|p| *p = if p.is_nan() { *p } else { p.max(0.0) });
    }
    let indices = |position: usize| {
        let mut rest = position;
        let mut indices: Vec<usize> = shape
            .iter()
            .rev()
            .map(|extent| {
                let i = rest % extent;
                rest /= extent;
                i
            })
            .collect();
        indices.reverse();
        rule.axes().iter().for_each(|&axis| indices[axis] = 0);
        indices
    };
    let old = p.to_vec();
    for (i, p) in p.iter_mut().enumerate() {
        let vector = old.iter().enumerate().filter(|(j, _)| indices(*j) == indices(i));
        *p *= rule.factor(vector.map(|(_, x)| x * x).sum::<f64>().sqrt());
    }
}
