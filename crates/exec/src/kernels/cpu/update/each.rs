//! Loops over the elements of a parameter, its slots and its gradient. They are cut in halves by the size alone.

use super::super::elementwise::PIECE;

/// The gradient of a parameter.
#[derive(Clone, Copy)]
pub(super) struct Gradient<'a> {
    pub(super) elements: &'a [f32],
    /// What is known of the rows it is a sum of, in the place of each element's own square or absolute value.
    pub(super) magnitude: Option<&'a [f32]>,
    /// No element counts for more.
    pub(super) limit: f32,
}

impl Gradient<'_> {
    /// Of loops that look at none.
    pub(super) const NONE: Gradient<'static> =
        Gradient { elements: &[], magnitude: None, limit: f32::INFINITY };

    fn split_at(&self, middle: usize) -> (Self, Self) {
        if self.elements.is_empty() {
            return (*self, *self);
        }
        let (left, right) = self.elements.split_at(middle);
        let magnitude = self.magnitude.map(|magnitude| magnitude.split_at(middle));
        let part = |elements, magnitude| Self { elements, magnitude, limit: self.limit };
        (part(left, magnitude.map(|both| both.0)), part(right, magnitude.map(|both| both.1)))
    }
}

/// Calls `f` with each element of the parameter, of its slots, of the gradient, and the magnitude, which is the square
/// of the gradient unless it is known otherwise.
pub(super) fn each<const N: usize>(
    p: &mut [f32],
    slots: [&mut [f32]; N],
    gradient: Gradient<'_>,
    f: &(impl Fn(&mut f32, [&mut f32; N], f32, f32) + Sync),
) {
    if p.len() > PIECE {
        let middle = middle(p.len());
        let (left, right) = p.split_at_mut(middle);
        let mut rights = [const { None }; N];
        let mut index = 0;
        let lefts = slots.map(|slot| {
            let (left, right) = slot.split_at_mut(middle);
            rights[index] = Some(right);
            index += 1;
            left
        });
        let rights = rights.map(|right| right.expect("every slot was cut"));
        let (before, behind) = gradient.split_at(middle);
        rayon::join(|| each(left, lefts, before, f), || each(right, rights, behind, f));
        return;
    }
    let (count, limit) = (p.len(), gradient.limit);
    let slots = slots.map(|slot| &mut slot[..count]);
    match (gradient.elements, gradient.magnitude) {
        ([], _) => run(p, slots, f, |_| (0.0, 0.0)),
        // Most gradients have no limit, and their loops are the shorter for it.
        (g, None) if limit == f32::INFINITY => {
            let g = &g[..count];
            run(p, slots, f, |i| (g[i], g[i] * g[i]));
        }
        (g, None) => {
            let g = &g[..count];
            run(p, slots, f, |i| {
                let g = g[i].clamp(-limit, limit);
                (g, g * g)
            });
        }
        (g, Some(magnitude)) => {
            let (g, magnitude) = (&g[..count], &magnitude[..count]);
            run(p, slots, f, |i| (g[i].clamp(-limit, limit), magnitude[i]));
        }
    }
}

#[inline(always)]
fn run<const N: usize>(
    p: &mut [f32],
    mut slots: [&mut [f32]; N],
    f: &impl Fn(&mut f32, [&mut f32; N], f32, f32),
    gradient: impl Fn(usize) -> (f32, f32),
) {
    for (i, p) in p.iter_mut().enumerate() {
        let (g, magnitude) = gradient(i);
        f(p, slots.each_mut().map(|slot| &mut slot[i]), g, magnitude);
    }
}

/// The sum of a function of the elements side by side.
pub(super) fn sum<const N: usize>(runs: [&[f32]; N], f: &(impl Fn([f32; N]) -> f64 + Sync)) -> f64 {
    let count = runs[0].len();
    if count > PIECE {
        let middle = middle(count);
        let (left, right) = (runs.map(|run| &run[..middle]), runs.map(|run| &run[middle..]));
        let (left, right) = rayon::join(|| sum(left, f), || sum(right, f));
        return left + right;
    }
    (0..count).map(|i| f(runs.map(|run| run[i]))).sum()
}

/// Where a run is cut: at a whole piece near its half.
fn middle(count: usize) -> usize {
    count.div_ceil(PIECE).div_ceil(2) * PIECE
}
