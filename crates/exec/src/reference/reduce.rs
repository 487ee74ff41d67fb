//! Reductions, from their definitions.

use super::binary::larger;
use super::tensor::{flat, indices};
use super::{Meaning, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Reduce, ReduceMaxGradient, Reduction};

impl Meaning for Reduce {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let groups = groups(x.shape(), &self.axes);
        let count = x.data.len() as f64 / groups.iter().max().map_or(1.0, |last| (last + 1) as f64);
        let start = match self.reduction {
            Reduction::Max => f64::NEG_INFINITY,
            Reduction::Product => 1.0,
            Reduction::Sum | Reduction::Mean => 0.0,
        };
        let mut y = vec![start; groups.iter().max().map_or(1, |last| last + 1)];
        for (x, &group) in x.data.iter().zip(&groups) {
            match self.reduction {
                Reduction::Sum => y[group] += x,
                Reduction::Mean => y[group] += x / count,
                Reduction::Product => y[group] *= x,
                Reduction::Max => y[group] = larger(y[group], *x),
            }
        }
        vec![y]
    }
}

impl Meaning for ReduceMaxGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, y, dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let groups = groups(x.shape(), &self.axes);
        let mut ties = vec![0.0; y.data.len()];
        for (x, &group) in x.data.iter().zip(&groups) {
            ties[group] += f64::from(*x == y.data[group]);
        }
        let dx = x
            .data
            .iter()
            .zip(&groups)
            .map(|(x, &group)| f64::from(*x == y.data[group]) * dy.data[group] / ties[group]);
        vec![dx.collect()]
    }
}

/// For each element, the position in the result that it goes to.
fn groups(shape: &Shape, axes: &[usize]) -> Vec<usize> {
    let kept = |axis: &usize| !axes.contains(axis);
    let reduced = Shape::new((0..shape.rank()).filter(kept).map(|axis| shape[axis]).collect::<Vec<_>>());
    let position = |index: Vec<usize>| {
        let own: Vec<usize> = (0..shape.rank()).filter(kept).map(|axis| index[axis]).collect();
        flat(&reduced, &own)
    };
    indices(shape).map(position).collect()
}
