//! Layer normalization, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::{LayerNorm, LayerNormGradient};

impl Meaning for LayerNorm {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, gamma, beta] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let (mut y, mut means, mut inverses) = (Vec::new(), Vec::new(), Vec::new());
        for row in x.data.chunks(gamma.data.len()) {
            let row_mean = mean(row.iter().copied());
            let variance = mean(row.iter().map(|x| (x - row_mean).powi(2)));
            let inverse = 1.0 / (variance + f64::from(self.epsilon)).sqrt();
            let scaled = row.iter().zip(&gamma.data).map(|(x, gamma)| (x - row_mean) * inverse * gamma);
            y.extend(scaled.zip(&beta.data).map(|(y, beta)| y + beta));
            means.push(row_mean);
            inverses.push(inverse);
        }
        vec![y, means, inverses]
    }
}

impl Meaning for LayerNormGradient {
    /// The chain rule through mean and variance: what is left of `gamma dy` without its mean and without its part along
    /// the normalized `x`.
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, gamma, means, inverses, dy] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        let channels = gamma.data.len();
        let (mut dx, mut dgamma, mut dbeta) = (Vec::new(), vec![0.0; channels], vec![0.0; channels]);
        for (index, (x, dy)) in x.data.chunks(channels).zip(dy.data.chunks(channels)).enumerate() {
            let (row_mean, inverse) = (means.data[index], inverses.data[index]);
            let normal: Vec<f64> = x.iter().map(|x| (x - row_mean) * inverse).collect();
            let scaled: Vec<f64> = dy.iter().zip(&gamma.data).map(|(dy, gamma)| dy * gamma).collect();
            let scaled_mean = mean(scaled.iter().copied());
            let along = mean(scaled.iter().zip(&normal).map(|(dy, x)| dy * x));
            dx.extend(scaled.iter().zip(&normal).map(|(dy, x)| inverse * (dy - scaled_mean - x * along)));
            for channel in 0..channels {
                dgamma[channel] += dy[channel] * normal[channel];
                dbeta[channel] += dy[channel];
            }
        }
        vec![dx, dgamma, dbeta]
    }
}

fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = numbers.len() as f64;
    numbers.sum::<f64>() / count
}
