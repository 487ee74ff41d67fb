//! Embedding, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::{Embedding, EmbeddingGradient};

impl Meaning for Embedding {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [table, ids] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let width = table.shape().last();
        let y = ids.data.iter().flat_map(|&id| (0..width).map(move |column| table.at([id as usize, column])));
        vec![y.collect()]
    }
}

impl Meaning for EmbeddingGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [ids, dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let width = dy.shape().last();
        let mut dtable = vec![0.0; self.rows * width];
        for (position, &id) in ids.data.iter().enumerate() {
            for column in 0..width {
                dtable[id as usize * width + column] += dy.data[position * width + column];
            }
        }
        vec![dtable]
    }
}
