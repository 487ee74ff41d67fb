//! Adafactor: means of squares along two axes, and steps relative to the size of the parameter.

use super::each::{Gradient, each, sum};
use super::{Now, power};
use crate::kernels::Output;
use plimsoll_graph::Shape;
use plimsoll_graph::op::Rule;
use rayon::prelude::*;

pub(super) fn run(
    rule: &Rule,
    shape: &Shape,
    p: &mut [f32],
    slots: &mut [Output],
    g: Gradient<'_>,
    now: Now,
) {
    let &Rule::Adafactor { decay, epsilon1, epsilon2, threshold, .. } = rule else { return };
    let size = root_mean(sum([&*p], &|[p]| f64::from(p).powi(2)), p.len());
    let alpha = size.max(epsilon2 as f32) * now.lr.min(1.0 / now.t().sqrt());
    let old = 1.0 - power(now.t(), decay as f32);
    let v = match slots {
        [r, c, v] => {
            let means = Means { extents: shape.extents(), old, epsilon: epsilon1 as f32 };
            means.follow(r.f32(), c.f32(), g);
            means.spread(r.f32(), c.f32(), v.f32());
            v.f32()
        }
        [v] => {
            let epsilon = epsilon1 as f32;
            each(v.f32(), [], g, &|v, [], _, s| *v = old * *v + (1.0 - old) * (s + epsilon));
            v.f32()
        }
        _ => unreachable!("the shape rule has counted the slots"),
    };
    let limit = g.limit;
    let steps = match g.magnitude {
        Some(squares) => sum([squares, &*v], &|[s, v]| f64::from(s) / f64::from(v)),
        None => sum([g.elements, &*v], &|[g, v]| f64::from(g.clamp(-limit, limit) / v.sqrt()).powi(2)),
    };
    let least = (root_mean(steps, p.len()) / threshold as f32).max(1.0);
    each(p, [v], g, &|p, [v], g, _| *p -= alpha * (g / v.sqrt() / least));
}

fn root_mean(sum: f64, count: usize) -> f32 {
    (sum / count as f64).sqrt() as f32
}

/// The means of squares along the last two axes.
struct Means<'a> {
    extents: &'a [usize],
    /// How much of the old means stays.
    old: f32,
    epsilon: f32,
}

impl Means<'_> {
    /// Rows and columns.
    fn sides(&self) -> (usize, usize) {
        let [.., rows, columns] = self.extents else { unreachable!("the shape rule has counted the axes") };
        (*rows, *columns)
    }

    fn follow(&self, r: &mut [f32], c: &mut [f32], g: Gradient<'_>) {
        let (rows, columns) = self.sides();
        let share = 1.0 - self.old;
        let square = |position: usize| match g.magnitude {
            Some(squares) => squares[position] + self.epsilon,
            None => g.elements[position].clamp(-g.limit, g.limit).powi(2) + self.epsilon,
        };
        c.iter_mut().for_each(|c| *c *= self.old);
        for (row, r) in r.iter_mut().enumerate() {
            let start = row * columns;
            let mean = (start..start + columns).map(square).sum::<f32>() / columns as f32;
            *r = self.old * *r + share * mean;
            let c = &mut c[row / rows * columns..][..columns];
            c.iter_mut().enumerate().for_each(|(at, c)| *c += share * (square(start + at) / rows as f32));
        }
    }

    fn spread(&self, r: &[f32], c: &[f32], v: &mut [f32]) {
        let (rows, columns) = self.sides();
        for (matrix, v) in v.chunks_exact_mut(rows * columns).enumerate() {
            let (r, c) = (&r[matrix * rows..][..rows], &c[matrix * columns..][..columns]);
            let mean = r.iter().sum::<f32>() / rows as f32;
            v.par_chunks_mut(columns).zip(r).for_each(|(v, r)| {
                v.iter_mut().zip(c).for_each(|(v, c)| *v = r / mean * c);
            });
        }
    }
}
