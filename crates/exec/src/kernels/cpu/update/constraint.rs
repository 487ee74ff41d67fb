//! Projections after an update: elements that belong together have one norm. They are few, so one thread does it.

use plimsoll_graph::Shape;
use plimsoll_graph::op::Constraint;

/// How many norms there are.
pub(super) fn groups(rule: &Constraint, shape: &Shape) -> usize {
    match rule {
        Constraint::NonNegative => 0,
        _ => shape.elements() / rule.axes().iter().map(|&axis| shape[axis]).product::<usize>().max(1),
    }
}

/// Makes what must hold of a parameter hold.
pub(super) fn project(rule: &Constraint, shape: &Shape, p: &mut [f32], scratch: &mut [f32]) {
    if let Constraint::NonNegative = rule {
        return p.iter_mut().for_each(|p| *p = if p.is_nan() { *p } else { p.max(0.0) });
    }
    let norms = &mut scratch[..groups(rule, shape)];
    norms.fill(0.0);
    each(rule, shape, p, |p, group| norms[group] += *p * *p);
    norms.iter_mut().for_each(|norm| *norm = rule.factor(f64::from(norm.sqrt())) as f32);
    each(rule, shape, p, |p, group| *p *= norms[group]);
}

/// Calls `f` with each element and the number of its group, row by row.
fn each(rule: &Constraint, shape: &Shape, p: &mut [f32], mut f: impl FnMut(&mut f32, usize)) {
    for (position, p) in p.iter_mut().enumerate() {
        f(p, group(rule, shape, position));
    }
}

/// The number of an element's group: its position if the axes were not there.
fn group(rule: &Constraint, shape: &Shape, position: usize) -> usize {
    let (mut rest, mut group, mut stride) = (position, 0, 1);
    for axis in (0..shape.rank()).rev() {
        let (extent, index) = (shape[axis], rest % shape[axis]);
        rest /= extent;
        if !rule.axes().contains(&axis) {
            group += index * stride;
            stride *= extent;
        }
    }
    group
}
