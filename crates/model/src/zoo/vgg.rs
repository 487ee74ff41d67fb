//! VGG (Simonyan and Zisserman, Very Deep Convolutional Networks, 2014), configuration D.

use super::Settings;
use crate::layer::{Conv2d, Dense, Flatten, Pooling2d};
use crate::{Builder, Model};

pub(super) fn vgg16(settings: &Settings) -> Model {
    let mut net = Builder::new("vgg16");
    let mut x = net.input(settings.image());
    for (block, filters, convolutions) in [(1, 64, 2), (2, 128, 2), (3, 256, 3), (4, 512, 3), (5, 512, 3)] {
        for conv in 1..=convolutions {
            x = net.add(format!("block{block}_conv{conv}"), Conv2d::new(filters, 3).same().relu(), &[x]);
        }
        x = net.add(format!("block{block}_pool"), Pooling2d::max(2), &[x]);
    }
    let x = net.add("flatten", Flatten {}, &[x]);
    let x = net.add("fc1", Dense::new(4096).relu(), &[x]);
    let x = net.add("fc2", Dense::new(4096).relu(), &[x]);
    let x = net.add("predictions", Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}
