//! The small ones: a perceptron, a convolutional network, LeNet.

use super::Settings;
use crate::layer::{Activation, Conv2d, Dense, Flatten, Pooling2d};
use crate::{Builder, Model};
use plimsoll_graph::op::Padding;

pub(super) fn mlp(settings: &Settings) -> Model {
    let mut net = Builder::new("mlp");
    let x = net.input([settings.size()]);
    let x = net.push(Dense::new(100).relu(), &[x]);
    let x = net.push(Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}

/// Images below 18 pixels would vanish without padding, so there the convolutions keep the size.
pub(super) fn cnn(settings: &Settings) -> Model {
    let padding = if settings.size() < 18 { Padding::Same } else { Padding::Valid };
    let mut net = Builder::new("cnn");
    let mut x = net.input(settings.image());
    for filters in [32, 64] {
        x = net.push(Conv2d::new(filters, 3).padding(padding).relu(), &[x]);
        x = net.push(Pooling2d::max(2), &[x]);
    }
    let x = net.push(Conv2d::new(64, 3).padding(padding).relu(), &[x]);
    let x = net.push(Flatten {}, &[x]);
    let x = net.push(Dense::new(64).relu(), &[x]);
    let x = net.push(Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}

/// Images below 32 pixels would vanish without padding, so there the convolutions keep the size.
pub(super) fn lenet(settings: &Settings) -> Model {
    let padding = if settings.size() < 32 { Padding::Same } else { Padding::Valid };
    let conv = |filters| Conv2d::new(filters, 5).padding(padding).activation(Activation::Tanh);
    let mut net = Builder::new("lenet");
    let mut x = net.input(settings.image());
    for filters in [6, 16] {
        x = net.push(conv(filters), &[x]);
        x = net.push(Pooling2d::average(2), &[x]);
    }
    let x = net.push(conv(120), &[x]);
    let x = net.push(Flatten {}, &[x]);
    let x = net.push(Dense::new(84).activation(Activation::Tanh), &[x]);
    let x = net.push(Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}
