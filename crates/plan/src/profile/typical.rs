//! The profile that is used where none was measured: set by hand after figures of one thread of an AMD EPYC.
//! Proportions between ops are about right on other processors, too; times are not.

use super::{Class, Cost, Profile};

/// Classes with their GFLOP/s, GB/s in cache and GB/s in memory; 0 for what costs nothing of its own.
const RATES: &[(Class, [f64; 3])] = &[
    (Class::Product, [90.0, 30.0, 0.0]),
    (Class::ThinProduct, [90.0, 12.0, 0.0]),
    (Class::Convolution, [83.0, 36.0, 0.0]),
    (Class::ImageGradient, [75.0, 60.0, 0.0]),
    (Class::FilterGradient, [83.0, 30.0, 0.0]),
    (Class::PointwiseFilterGradient, [80.0, 60.0, 0.0]),
    (Class::Depthwise, [0.0, 55.0, 0.0]),
    (Class::DepthwiseImageGradient, [0.0, 45.0, 0.0]),
    (Class::DepthwiseFilterGradient, [30.0, 75.0, 0.0]),
    (Class::Attention, [40.0, 10.0, 0.0]),
    (Class::AttentionGradient, [30.0, 15.0, 0.0]),
    (Class::Recurrence, [38.0, 15.0, 0.0]),
    (Class::RecurrenceGradient, [30.0, 0.0, 0.0]),
    (Class::Elementwise, [0.0, 80.0, 70.0]),
    (Class::Piecewise, [0.0, 25.0, 20.0]),
    (Class::Exponential, [4.0, 0.0, 0.0]),
    (Class::Tanh, [3.0, 0.0, 0.0]),
    (Class::Gelu, [1.0, 0.0, 0.0]),
    (Class::Stretching, [0.0, 80.0, 35.0]),
    (Class::Softmax, [0.0, 25.0, 0.0]),
    (Class::BatchNorm, [0.0, 20.0, 12.0]),
    (Class::BatchNormGradient, [0.0, 8.0, 7.0]),
    (Class::LayerNorm, [0.0, 20.0, 5.0]),
    (Class::Reduction, [0.0, 30.0, 33.0]),
    (Class::Pooling, [0.0, 30.0, 50.0]),
    (Class::PoolingGradient, [0.0, 50.0, 16.0]),
    (Class::Movement, [0.0, 95.0, 45.0]),
    (Class::Transposition, [0.0, 7.0, 2.0]),
    (Class::Upsampling, [18.0, 0.0, 0.0]),
    (Class::Dropout, [1.5, 0.0, 0.0]),
    (Class::Update, [0.0, 15.0, 0.0]),
];
/// Seconds an op takes at least.
const OP: f64 = 1.5e-6;

pub(super) fn profile() -> Profile {
    let price = |rate: f64| if rate > 0.0 { 1e-9 / rate } else { 0.0 };
    let costs = RATES.iter().map(|&(class, rates)| {
        let [flop, cached_byte, memory_byte] = rates.map(price);
        (class, Cost::from_prices([OP, flop, cached_byte, memory_byte]))
    });
    let machine = "typical, not measured".to_string();
    Profile { machine, threads: 1, calibrated: false, costs: costs.collect() }
}
