//! Elements by their positions in a row, from their definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::{TakeAlong, TakeAlongGradient};

impl Meaning for TakeAlong {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, positions] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let (extent, width) = (x.shape().last(), positions.shape().last());
        let element = |(at, &position): (usize, &f64)| x.data[at / width * extent + position as usize];
        vec![positions.data.iter().enumerate().map(element).collect()]
    }
}

impl Meaning for TakeAlongGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [positions, dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let width = dy.shape().last();
        let mut dx = vec![0.0; dy.data.len() / width * self.extent];
        for (at, (dy, &position)) in dy.data.iter().zip(&positions.data).enumerate() {
            dx[at / width * self.extent + position as usize] += dy;
        }
        vec![dx]
    }
}
