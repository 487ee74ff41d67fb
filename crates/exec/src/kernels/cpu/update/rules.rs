//! The rules that look at one element at a time, and LAMB, which looks at two norms besides.

use super::each::{Gradient, each, sum};
use super::{Now, power};
use crate::kernels::Output;
use plimsoll_graph::op::Rule;

/// Updates a parameter and its slots.
pub(super) fn run(rule: &Rule, p: &mut [f32], slots: &mut [Output], g: Gradient<'_>, now: Now) {
    let lr = now.lr;
    match (*rule, slots) {
        (Rule::Sgd, []) => each(p, [], g, &|p, [], g, _| *p -= g * lr),
        (Rule::Motion { momentum }, []) => {
            let less = (momentum - 1.0) as f32;
            each(p, [], g, &|m, [], g, _| *m += g + *m * less);
        }
        (Rule::Scale { growth }, [count]) => {
            each(p, [count.f32()], g, &|scale, [count], finite, _| {
                let (factor, next) = match finite == 0.0 {
                    true => (0.5, 0.0),
                    false if *count + 1.0 == growth as f32 => (2.0, 0.0),
                    false => (1.0, *count + 1.0),
                };
                (*scale, *count) = (*scale * factor, next);
            });
        }
        (Rule::Momentum { momentum, nesterov }, [m]) => {
            let momentum = momentum as f32;
            each(p, [m.f32()], g, &|p, [m], g, _| {
                *m = *m * momentum - g * lr;
                *p += if nesterov { *m * momentum - g * lr } else { *m };
            });
        }
        (Rule::RmsProp { .. }, slots) => rms_prop(rule, p, slots, g, lr),
        (Rule::Adam { .. }, slots) => adam(rule, p, slots, g, now),
        (Rule::Nadam { beta1, beta2, epsilon }, [m, v, u]) => {
            let nesterov = Nesterov::of([beta1, beta2], epsilon, &mut u.f32()[0], now);
            each(p, [m.f32(), v.f32()], g, &|p, [m, v], g, s| *p -= nesterov.step(m, v, g, s));
        }
        (Rule::Adamax { beta1, beta2, epsilon }, [m, u]) => {
            let (share, beta2, epsilon) = ((1.0 - beta1) as f32, beta2 as f32, epsilon as f32);
            let (seen, by_rows) = (now.seen(beta1), g.magnitude.is_some());
            each(p, [m.f32(), u.f32()], g, &|p, [m, u], g, s| {
                *m += (g - *m) * share;
                let size = if by_rows { s } else { g.abs() };
                *u = (beta2 * *u).max(size);
                *p -= lr * *m / (seen * (*u + epsilon));
            });
        }
        (Rule::Adagrad { epsilon }, [a]) => {
            let epsilon = epsilon as f32;
            each(p, [a.f32()], g, &|p, [a], g, s| {
                *a += s;
                *p -= lr * g / (*a + epsilon).sqrt();
            });
        }
        (Rule::Adadelta { rho, epsilon }, [a, d]) => {
            let (share, rho, epsilon) = ((1.0 - rho) as f32, rho as f32, epsilon as f32);
            each(p, [a.f32(), d.f32()], g, &|p, [a, d], g, s| {
                *a = rho * *a + share * s;
                let ratio = (*d + epsilon).sqrt() / (*a + epsilon).sqrt();
                *d = rho * *d + share * (ratio * ratio * s);
                *p -= lr * (ratio * g);
            });
        }
        (Rule::Ftrl { .. }, [a, l]) => ftrl(rule, p, [a, l], g, lr),
        (Rule::Lion { beta1, beta2 }, [m]) => {
            let (beta1, beta2) = (beta1 as f32, beta2 as f32);
            each(p, [m.f32()], g, &|p, [m], g, _| {
                *p -= lr * sign(*m * beta1 + g * (1.0 - beta1));
                *m = *m * beta2 + g * (1.0 - beta2);
            });
        }
        (Rule::Lamb { beta1, beta2, epsilon }, [m, v]) => {
            lamb([beta1, beta2], epsilon as f32, p, [m.f32(), v.f32()], g, now);
        }
        (Rule::ScheduleFree { .. }, [z, v]) => schedule_free(rule, p, [z.f32(), v.f32()], g, now),
        _ => unreachable!("the shape rule has counted the slots"),
    }
}

/// Adds a gradient to those of the steps before, until an update uses them up.
pub(super) fn gather(p: &mut [f32], g: Gradient<'_>, applies: bool) {
    match applies {
        true => p.fill(0.0),
        false => each(p, [], g, &|p, [], g, _| *p += g),
    }
}

fn rms_prop(rule: &Rule, p: &mut [f32], slots: &mut [Output], g: Gradient<'_>, lr: f32) {
    let Rule::RmsProp { rho, epsilon, momentum, centered } = *rule else { return };
    let (share, rho, epsilon) = ((1.0 - rho) as f32, rho as f32, epsilon as f32);
    let momentum = momentum as f32;
    let mean = move |v: &mut f32, s: f32| *v = rho * *v + share * s;
    let step = move |v: f32, g: f32| lr * g / (v + epsilon).sqrt();
    let centered_step = move |v: f32, a: &mut f32, g: f32| {
        *a = rho * *a + share * g;
        lr * g / (v - *a * *a + epsilon).sqrt()
    };
    match (slots, centered) {
        ([v], _) => each(p, [v.f32()], g, &|p, [v], g, s| {
            mean(v, s);
            *p -= step(*v, g);
        }),
        ([v, m], false) => each(p, [v.f32(), m.f32()], g, &|p, [v, m], g, s| {
            mean(v, s);
            *m = momentum * *m + step(*v, g);
            *p -= *m;
        }),
        ([v, a], true) => each(p, [v.f32(), a.f32()], g, &|p, [v, a], g, s| {
            mean(v, s);
            *p -= centered_step(*v, a, g);
        }),
        ([v, m, a], _) => each(p, [v.f32(), m.f32(), a.f32()], g, &|p, [v, m, a], g, s| {
            mean(v, s);
            *m = momentum * *m + centered_step(*v, a, g);
            *p -= *m;
        }),
        _ => unreachable!("the shape rule has counted the slots"),
    }
}

fn adam(rule: &Rule, p: &mut [f32], slots: &mut [Output], g: Gradient<'_>, now: Now) {
    let Rule::Adam { beta1, beta2, epsilon, .. } = *rule else { return };
    let alpha = now.lr * now.seen(beta2).sqrt() / now.seen(beta1);
    let (share1, share2, epsilon) = ((1.0 - beta1) as f32, (1.0 - beta2) as f32, epsilon as f32);
    match slots {
        [m, v] => each(p, [m.f32(), v.f32()], g, &|p, [m, v], g, s| {
            *m += (g - *m) * share1;
            *v += (s - *v) * share2;
            *p -= *m * alpha / (v.sqrt() + epsilon);
        }),
        [m, v, largest] => each(p, [m.f32(), v.f32(), largest.f32()], g, &|p, [m, v, largest], g, s| {
            *m += (g - *m) * share1;
            *v += (s - *v) * share2;
            *largest = largest.max(*v);
            *p -= *m * alpha / (largest.sqrt() + epsilon);
        }),
        _ => unreachable!("the shape rule has counted the slots"),
    }
}

/// The numbers of a step of Nadam.
struct Nesterov {
    lr: f32,
    /// `1 - beta1`, `1 - beta2`
    shares: [f32; 2],
    /// What the mean and the gradient are multiplied and divided by.
    mean: [f32; 2],
    gradient: [f32; 2],
    seen: f32,
    epsilon: f32,
}

impl Nesterov {
    fn of(betas: [f64; 2], epsilon: f64, product: &mut f32, now: Now) -> Self {
        let [beta1, beta2] = betas.map(|beta| beta as f32);
        let u = |t: f32| beta1 * (1.0 - 0.5 * power(0.96, t));
        let (this, next) = (u(now.t()), u(now.t() + 1.0));
        *product = *product * beta1 * (1.0 - 0.5 * power(0.96, now.t()));
        Self {
            lr: now.lr,
            shares: [1.0 - beta1, 1.0 - beta2],
            mean: [next, 1.0 - *product * next],
            gradient: [1.0 - this, 1.0 - *product],
            seen: now.seen(betas[1]),
            epsilon: epsilon as f32,
        }
    }

    fn step(&self, m: &mut f32, v: &mut f32, g: f32, s: f32) -> f32 {
        *m += (g - *m) * self.shares[0];
        *v += (s - *v) * self.shares[1];
        let mean = self.mean[0] * *m / self.mean[1] + self.gradient[0] * g / self.gradient[1];
        mean * self.lr / ((*v / self.seen).sqrt() + self.epsilon)
    }
}

fn ftrl(rule: &Rule, p: &mut [f32], [a, l]: [&mut Output; 2], g: Gradient<'_>, lr: f32) {
    let Rule::Ftrl { power, l1, l2, shrinkage, beta } = *rule else { return };
    let (exponent, l1, shrinkage) = (-power as f32, l1 as f32, (2.0 * shrinkage) as f32);
    let pull = 2.0 * (l2 as f32 + beta as f32 / (2.0 * lr));
    each(p, [a.f32(), l.f32()], g, &|p, [a, l], g, s| {
        let next = *a + s;
        let root = next.powf(exponent);
        *l += (g + shrinkage * *p) - (root - a.powf(exponent)) / lr * *p;
        *p = (l.clamp(-l1, l1) - *l) / (root / lr + pull);
        *a = next;
    });
}

fn lamb(betas: [f64; 2], epsilon: f32, p: &mut [f32], [m, v]: [&mut [f32]; 2], g: Gradient<'_>, now: Now) {
    let [share1, share2] = betas.map(|beta| (1.0 - beta) as f32);
    each(p, [&mut *m, &mut *v], g, &|_, [m, v], g, s| {
        *m += (g - *m) * share1;
        *v += (s - *v) * share2;
    });
    let [seen1, seen2] = betas.map(|beta| now.seen(beta));
    let step = |m: f32, v: f32| m / seen1 / ((v / seen2).sqrt() + epsilon);
    let square = |x: f32| f64::from(x) * f64::from(x);
    let own = sum([&*p], &|[p]| square(p)).sqrt() as f32;
    let length = sum([&*m, &*v], &|[m, v]| square(step(m, v))).sqrt() as f32;
    let ratio = if own > 0.0 && length > 0.0 { own / length } else { 1.0 };
    each(p, [m, v], Gradient::NONE, &|p, [m, v], _, _| *p -= ratio * now.lr * step(*m, *v));
}

fn schedule_free(rule: &Rule, p: &mut [f32], slots: [&mut [f32]; 2], g: Gradient<'_>, now: Now) {
    let Rule::ScheduleFree { beta1, beta2, epsilon, warmup } = *rule else { return };
    let (beta1, epsilon) = (beta1 as f32, epsilon as f32);
    let rise = if warmup > 0 { (now.t() / warmup as f32).min(1.0) } else { 1.0 };
    let (lr, seen, share) = (now.lr * rise, now.seen(beta2), 1.0 - beta2 as f32);
    let weight = 1.0 / now.t();
    each(p, slots, g, &|p, [z, v], g, s| {
        *v += (s - *v) * share;
        *z -= lr * g / ((*v / seen).sqrt() + epsilon);
        let old = (*p - (1.0 - beta1) * *z) / beta1;
        let average = (1.0 - weight) * old + weight * *z;
        *p = (1.0 - beta1) * *z + beta1 * average;
    });
}

/// 1, -1, or the number itself where it is 0 or none.
fn sign(x: f32) -> f32 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}
