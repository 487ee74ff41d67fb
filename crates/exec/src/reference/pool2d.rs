//! Pooling and its gradients, from their definitions.

use super::conv2d::triples;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{AveragePool2dGradient, Geometry, MaxPool2dGradient, Pool, Pool2d};

impl Meaning for Pool2d {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let mut y = Vec::new();
        for_each_window(&self.geometry(&x.tensor), x.extents(), |window, _| {
            let elements = window.iter().map(|&i| x.data[i]);
            y.push(match self.pool {
                Pool::Max => elements.fold(f64::NEG_INFINITY, f64::max),
                Pool::Average => elements.sum::<f64>() / window.len().max(1) as f64,
            });
        });
        vec![y]
    }
}

impl Meaning for MaxPool2dGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, _, dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let pool = Pool2d { pool: Pool::Max, window: self.window, sliding: self.sliding };
        let mut dx = vec![0.0; x.data.len()];
        for_each_window(&pool.geometry(&x.tensor), x.extents(), |window, output| {
            let largest = window.iter().map(|&i| x.data[i]).fold(f64::NEG_INFINITY, f64::max);
            if let Some(&first) = window.iter().find(|&&i| x.data[i] == largest) {
                dx[first] += dy.data[output];
            }
        });
        vec![dx]
    }
}

impl Meaning for AveragePool2dGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, _, _, c] = dy.extents();
        let [h, w] = self.size;
        let geometry =
            self.sliding.over(self.size, self.window).expect("the shape rule has checked the shapes");
        let mut dx = vec![0.0; n * h * w * c];
        for_each_window(&geometry, [n, h, w, c], |window, output| {
            for &i in window {
                dx[i] += dy.data[output] / window.len() as f64;
            }
        });
        vec![dx]
    }
}

/// Visits every window of every channel with the positions of its elements inside the image and the position of its
/// result, in the order of the results.
fn for_each_window(geometry: &Geometry, [n, h, w, c]: [usize; 4], mut visit: impl FnMut(&[usize], usize)) {
    let [oh, ow] = geometry.output;
    let mut output = 0;
    for (image, oy, ox) in triples(n, oh, ow) {
        for channel in 0..c {
            let mut window = Vec::new();
            for (ky, kx, _) in triples(geometry.window[0], geometry.window[1], 1) {
                if let (Some(iy), Some(ix)) = (geometry.source(0, oy, ky), geometry.source(1, ox, kx)) {
                    window.push(((image * h + iy) * w + ix) * c + channel);
                }
            }
            visit(&window, output);
            output += 1;
        }
    }
}
