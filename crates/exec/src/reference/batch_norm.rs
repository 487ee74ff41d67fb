//! Batch normalization, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::{BatchNorm, BatchNormGradient, BatchNormInference};

impl Meaning for BatchNorm {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, gamma, beta] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let channels = gamma.data.len();
        let mean = channel_means(channels, x.data.iter().copied());
        let square = |(i, x): (usize, &f64)| (x - mean[i % channels]).powi(2);
        let variance = channel_means(channels, x.data.iter().enumerate().map(square));
        let y = normalized(&x.data, &mean, &variance, self.epsilon);
        let y = y.enumerate().map(|(i, y)| y * gamma.data[i % channels] + beta.data[i % channels]).collect();
        vec![y, mean, variance]
    }
}

impl Meaning for BatchNormInference {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, gamma, beta, mean, variance] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        let channels = gamma.data.len();
        let y = normalized(&x.data, &mean.data, &variance.data, self.epsilon);
        let y = y.enumerate().map(|(i, y)| y * gamma.data[i % channels] + beta.data[i % channels]);
        vec![y.collect()]
    }
}

impl Meaning for BatchNormGradient {
    /// The chain rule through mean and variance: what is left of `dy` without its mean and without its part along the
    /// normalized `x`.
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, gamma, mean, variance, dy] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        let channels = gamma.data.len();
        let count = (x.data.len() / channels) as f64;
        let normal: Vec<f64> = normalized(&x.data, &mean.data, &variance.data, self.epsilon).collect();
        let dy_mean = channel_means(channels, dy.data.iter().copied());
        let along = channel_means(channels, dy.data.iter().zip(&normal).map(|(dy, x)| dy * x));
        let dx = dy.data.iter().zip(&normal).enumerate().map(|(i, (dy, x))| {
            let channel = i % channels;
            let scale = gamma.data[channel] / deviation(variance.data[channel], self.epsilon);
            scale * (dy - dy_mean[channel] - x * along[channel])
        });
        let dgamma = along.iter().map(|mean| mean * count).collect();
        let dbeta = dy_mean.iter().map(|mean| mean * count).collect();
        vec![dx.collect(), dgamma, dbeta]
    }
}

fn normalized(x: &[f64], mean: &[f64], variance: &[f64], epsilon: f32) -> impl Iterator<Item = f64> {
    let channels = mean.len();
    x.iter()
        .enumerate()
        .map(move |(i, x)| (x - mean[i % channels]) / deviation(variance[i % channels], epsilon))
}

fn deviation(variance: f64, epsilon: f32) -> f64 {
    (variance + f64::from(epsilon)).sqrt()
}

fn channel_means(channels: usize, elements: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let count = (elements.len() / channels) as f64;
    let mut means = vec![0.0; channels];
    for (i, element) in elements.enumerate() {
        means[i % channels] += element / count;
    }
    means
}
