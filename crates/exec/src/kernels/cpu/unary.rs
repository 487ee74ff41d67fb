//! The CPU kernels of elementwise functions of one number and of their gradients.

use super::elementwise::{map, map_pair};
use super::exponential::{exp, sigmoid, tanh};
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{Unary, UnaryGradient};
use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// `sqrt(2 / pi)`
const SQRT_2_OVER_PI: f32 = 0.797_884_6;

/// `1 / sqrt(2 pi)`
const DENSITY_AT_0: f32 = 0.398_942_3;

/// The coefficient of the cube in the tanh approximation of GELU.
const GELU_CUBE: f32 = 0.044_715;

impl CpuKernel for Unary {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        match *self {
            // Written so that a NaN stays one.
            Unary::Relu => map(call, |x| if x <= 0.0 { 0.0 } else { x }),
            Unary::Relu6 => map(call, |x| x.clamp(0.0, 6.0)),
            Unary::LeakyRelu(slope) => map(call, |x| if x > 0.0 { x } else { slope * x }),
            Unary::Elu(alpha) => map(call, |x| if x > 0.0 { x } else { alpha * x.exp_m1() }),
            Unary::Sigmoid => map(call, sigmoid),
            Unary::HardSigmoid => map(call, hard_sigmoid),
            Unary::Tanh => map(call, tanh),
            Unary::Swish => map(call, |x| x * sigmoid(x)),
            Unary::HardSwish => map(call, |x| x * hard_sigmoid(x)),
            Unary::Gelu => map(call, |x| x * normal_distribution(x)),
            Unary::GeluTanh => map(call, |x| 0.5 * x * (1.0 + gelu_tanh(x))),
            Unary::Softplus => map(call, |x| x.max(0.0) + (-x.abs()).exp().ln_1p()),
            Unary::Exp => map(call, exp),
            Unary::Log => map(call, f32::ln),
            Unary::Sqrt => map(call, f32::sqrt),
            Unary::Rsqrt => map(call, |x| 1.0 / x.sqrt()),
            Unary::Square => map(call, |x| x * x),
            Unary::Abs => map(call, f32::abs),
            Unary::Negate => map(call, |x| -x),
            Unary::AddScalar(c) => map(call, |x| x + c),
            Unary::MultiplyScalar(c) => map(call, |x| c * x),
            Unary::MaximumScalar(c) => map(call, |x| if x <= c { c } else { x }),
            Unary::PowerScalar(c) => map(call, |x| x.powf(c)),
            Unary::Huber(delta) => map(call, |x| {
                let near = x.abs().min(delta);
                near * (x.abs() - 0.5 * near)
            }),
            Unary::Sin => map(call, f32::sin),
            Unary::Cos => map(call, f32::cos),
            Unary::Tan => map(call, f32::tan),
            Unary::Asin => map(call, f32::asin),
            Unary::Acos => map(call, f32::acos),
            Unary::Atan => map(call, f32::atan),
            Unary::Sinh => map(call, f32::sinh),
            Unary::Cosh => map(call, f32::cosh),
            Unary::Asinh => map(call, f32::asinh),
            Unary::Acosh => map(call, f32::acosh),
            Unary::Atanh => map(call, f32::atanh),
            Unary::Erf => map(call, erf),
            Unary::ErfInv => map(call, inverse_erf),
            Unary::Log1p => map(call, f32::ln_1p),
            Unary::Expm1 => map(call, f32::exp_m1),
            Unary::Floor => map(call, f32::floor),
            Unary::Ceil => map(call, f32::ceil),
            Unary::Round => map(call, f32::round_ties_even),
            Unary::Trunc => map(call, f32::trunc),
            Unary::Sign => map(call, |x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
            Unary::IsNan => map(call, |x| f32::from(x.is_nan())),
            Unary::IsFinite => map(call, |x| f32::from(x.is_finite())),
            Unary::Detach => map(call, |x| x),
        }
    }
}

impl CpuKernel for UnaryGradient {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0), (1, 0)];

    /// The first operand is what [`Unary::saved`] says: `x` or `y`.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        match self.0 {
            // A slope of 0 times NaN is NaN: what went wrong above shows below.
            Unary::Relu => map_pair(call, |y, dy| dy * f32::from(y > 0.0)),
            Unary::Relu6 => map_pair(call, |y, dy| dy * f32::from(y > 0.0 && y < 6.0)),
            Unary::LeakyRelu(slope) => map_pair(call, |x, dy| if x > 0.0 { dy } else { slope * dy }),
            Unary::Elu(alpha) => map_pair(call, |y, dy| if y > 0.0 { dy } else { dy * (y + alpha) }),
            Unary::Sigmoid => map_pair(call, |y, dy| dy * y * (1.0 - y)),
            Unary::HardSigmoid => map_pair(call, |x, dy| dy / 6.0 * f32::from(x.abs() < 3.0)),
            Unary::Tanh => map_pair(call, |y, dy| dy * (1.0 - y) * (1.0 + y)),
            Unary::Swish => map_pair(call, |x, dy| {
                let s = sigmoid(x);
                dy * s * (1.0 + x * (1.0 - s))
            }),
            Unary::HardSwish => map_pair(call, |x, dy| dy * hard_swish_slope(x)),
            Unary::Gelu => {
                map_pair(call, |x, dy| dy * (normal_distribution(x) + x * DENSITY_AT_0 * exp(-0.5 * x * x)))
            }
            Unary::GeluTanh => map_pair(call, |x, dy| dy * gelu_tanh_slope(x)),
            // The slope is the sigmoid of x: 1 - e^-y.
            Unary::Softplus => map_pair(call, |y, dy| -dy * (-y).exp_m1()),
            Unary::Exp => map_pair(call, |y, dy| dy * y),
            Unary::Log => map_pair(call, |x, dy| dy / x),
            Unary::Sqrt => map_pair(call, |y, dy| 0.5 * dy / y),
            Unary::Rsqrt => map_pair(call, |y, dy| -0.5 * dy * y * y * y),
            Unary::Square => map_pair(call, |x, dy| 2.0 * x * dy),
            Unary::Abs => map_pair(call, |x, dy| dy * if x == 0.0 { 0.0 } else { x.signum() }),
            Unary::Negate => map_pair(call, |_, dy| -dy),
            Unary::AddScalar(_) => map_pair(call, |_, dy| dy),
            Unary::MultiplyScalar(c) => map_pair(call, |_, dy| c * dy),
            Unary::MaximumScalar(c) => map_pair(call, |x, dy| dy * f32::from(x >= c)),
            Unary::PowerScalar(c) => map_pair(call, |x, dy| dy * c * x.powf(c - 1.0)),
            Unary::Huber(delta) => map_pair(call, |x, dy| dy * x.clamp(-delta, delta)),
            Unary::Sin => map_pair(call, |x, dy| dy * x.cos()),
            Unary::Cos => map_pair(call, |x, dy| -dy * x.sin()),
            Unary::Tan => map_pair(call, |x, dy| dy / (x.cos() * x.cos())),
            Unary::Asin => map_pair(call, |x, dy| dy / ((1.0 - x) * (1.0 + x)).sqrt()),
            Unary::Acos => map_pair(call, |x, dy| -dy / ((1.0 - x) * (1.0 + x)).sqrt()),
            Unary::Atan => map_pair(call, |x, dy| dy / (1.0 + x * x)),
            Unary::Sinh => map_pair(call, |x, dy| dy * x.cosh()),
            Unary::Cosh => map_pair(call, |x, dy| dy * x.sinh()),
            Unary::Asinh => map_pair(call, |x, dy| dy / (1.0 + x * x).sqrt()),
            Unary::Acosh => map_pair(call, |x, dy| dy / ((x - 1.0) * (x + 1.0)).sqrt()),
            Unary::Atanh => map_pair(call, |x, dy| dy / ((1.0 - x) * (1.0 + x))),
            Unary::Erf => map_pair(call, |x, dy| dy * FRAC_2_SQRT_PI * exp(-x * x)),
            Unary::ErfInv => map_pair(call, |x, dy| {
                let y = inverse_erf(x);
                dy * exp(y * y) / FRAC_2_SQRT_PI
            }),
            Unary::Log1p => map_pair(call, |x, dy| dy / (1.0 + x)),
            Unary::Expm1 => map_pair(call, |x, dy| dy * exp(x)),
            Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc | Unary::Sign => {
                map_pair(call, |_, dy| 0.0 * dy)
            }
            Unary::IsNan | Unary::IsFinite | Unary::Detach => map_pair(call, |_, dy| 0.0 * dy),
        }
    }
}

#[inline]
fn hard_sigmoid(x: f32) -> f32 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

#[inline]
fn hard_swish_slope(x: f32) -> f32 {
    match x {
        x if x <= -3.0 => 0.0,
        x if x >= 3.0 => 1.0,
        x => (2.0 * x + 3.0) / 6.0,
    }
}

#[inline]
fn gelu_tanh(x: f32) -> f32 {
    tanh(SQRT_2_OVER_PI * (x + GELU_CUBE * x * x * x))
}

#[inline]
fn gelu_tanh_slope(x: f32) -> f32 {
    let t = gelu_tanh(x);
    let inner = SQRT_2_OVER_PI * (1.0 + 3.0 * GELU_CUBE * x * x);
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t) * (1.0 + t) * inner
}

/// The normal distribution function, `(1 + erf(x / sqrt(2))) / 2`.
#[inline]
fn normal_distribution(x: f32) -> f32 {
    let z = x * FRAC_1_SQRT_2;
    let near = 0.5 + 0.5 * erf_near_0(z);
    let tail = 0.5 * erfc_far_from_0(z.abs());
    let far = if z < 0.0 { tail } else { 1.0 - tail };
    // Both are computed, so that there is no branch.
    if z.abs() < ERF_SPLIT { near } else { far }
}

/// Where the two approximations of the error function meet. Both are minimax polynomials found for float32 by Norbert
/// Juffa; the tests hold their sum to an absolute error of 2e-7.
const ERF_SPLIT: f32 = 0.927_734_4;

fn erf(x: f32) -> f32 {
    let far = (1.0 - erfc_far_from_0(x.abs())).copysign(x);
    if x.abs() < ERF_SPLIT { erf_near_0(x) } else { far }
}

/// Giles, "Approximating the erfinv function" (2012), for single precision.
fn inverse_erf(x: f32) -> f32 {
    if x.abs() >= 1.0 {
        return if x.abs() == 1.0 { x * f32::INFINITY } else { f32::NAN };
    }
    let w = -((1.0 - x) * (1.0 + x)).ln();
    let (start, coefficients, at) = match w < 5.0 {
        true => (
            2.810_226_4e-8,
            [
                3.432_739_4e-7,
                -3.523_388e-6,
                -4.391_506_6e-6,
                2.185_808_7e-4,
                -1.253_725e-3,
                -4.177_681_7e-3,
                0.246_640_73,
                1.501_409_4,
            ],
            w - 2.5,
        ),
        false => (
            -2.002_142_6e-4,
            [
                1.009_505_6e-4,
                1.349_343_2e-3,
                -3.673_428_4e-3,
                5.739_507_7e-3,
                -7.622_461e-3,
                9.438_870_4e-3,
                1.001_674,
                2.832_976_8,
            ],
            w.sqrt() - 3.0,
        ),
    };
    coefficients.into_iter().fold(start, |sum: f32, coefficient| sum * at + coefficient) * x
}

#[inline]
fn erf_near_0(x: f32) -> f32 {
    let s = x * x;
    let mut r = -5.967_617e-4;
    for coefficient in [4.991_194e-3, -2.676_813_5e-2, 0.112_819_925, -0.376_125_34, 0.128_379_17] {
        r = r * s + coefficient;
    }
    r * x + x
}

/// `1 - erf(x)` for `x` at and above the split.
#[inline]
fn erfc_far_from_0(x: f32) -> f32 {
    let mut r = -1.728_534_7e-5;
    for coefficient in
        [3.831_971_3e-4, -3.883_964_4e-3, 2.425_462_2e-2, -0.106_777_88, -0.634_846_7, -0.128_717_51]
    {
        r = r * x + coefficient;
    }
    exp(r * x - x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `erf(x) = 2/sqrt(pi) e^(-x^2) sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1))`, whose terms are all positive.
    fn erf(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..300 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
    }

    #[test]
    fn the_error_function_is_good_to_two_in_ten_million() {
        for i in 0..=60_000 {
            let x = i as f32 * 1e-4;
            let found = if x < ERF_SPLIT { erf_near_0(x) } else { 1.0 - erfc_far_from_0(x) };
            let error = (f64::from(found) - erf(f64::from(x))).abs();
            assert!(error < 2e-7, "erf({x}) is off by {error:e}");
        }
    }

    #[test]
    fn the_normal_distribution_is_good_on_both_sides() {
        for i in -800..=800 {
            let x = i as f32 * 0.01;
            let wanted = 0.5 + 0.5 * erf(f64::from(x) * std::f64::consts::FRAC_1_SQRT_2);
            let error = (f64::from(normal_distribution(x)) - wanted).abs();
            assert!(error < 1.2e-7, "at {x} off by {error:e}");
        }
    }
}
