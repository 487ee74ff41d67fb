//! Padding, from its definition.

use super::tensor::{flat, indices};
use super::{Meaning, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Pad;

impl Meaning for Pad {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let x = inputs[0];
        let extents =
            (0..x.shape().rank()).map(|axis| self.before[axis] + x.shape()[axis] + self.after[axis]);
        let element = |index: Vec<usize>| {
            let own: Option<Vec<usize>> =
                index.iter().zip(&self.before).map(|(i, before)| i.checked_sub(*before)).collect();
            let inside = own.filter(|own| own.iter().zip(x.shape().extents()).all(|(i, extent)| i < extent));
            inside.map_or(f64::from(self.value), |own| x.data[flat(x.shape(), &own)])
        };
        vec![indices(&Shape::new(extents.collect::<Vec<_>>())).map(element).collect()]
    }
}
