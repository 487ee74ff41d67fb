//! Elementwise functions of one number and their gradients, from their definitions.

use super::binary::{larger, smaller};
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Saved, Unary, UnaryGradient};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

impl Meaning for Unary {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![inputs[0].data.iter().map(|&x| function(*self, x)).collect()]
    }
}

impl Meaning for UnaryGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [saved, dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let slope = |saved: f64| match self.0.saved() {
            Saved::Input => slope_at_input(self.0, saved),
            Saved::Output => slope_at_output(self.0, saved),
            Saved::Nothing => constant_slope(self.0),
        };
        vec![saved.data.iter().zip(&dy.data).map(|(&saved, dy)| dy * slope(saved)).collect()]
    }
}

fn function(op: Unary, x: f64) -> f64 {
    match op {
        Unary::Relu => larger(x, 0.0),
        Unary::Relu6 => x.clamp(0.0, 6.0),
        Unary::LeakyRelu(slope) => larger(x, 0.0) + f64::from(slope) * smaller(x, 0.0),
        Unary::Elu(alpha) => larger(x, 0.0) + f64::from(alpha) * (smaller(x, 0.0).exp() - 1.0),
        Unary::Sigmoid => sigmoid(x),
        Unary::HardSigmoid => (x + 3.0).clamp(0.0, 6.0) / 6.0,
        Unary::Tanh => x.tanh(),
        Unary::Swish => x * sigmoid(x),
        Unary::HardSwish => x * (x + 3.0).clamp(0.0, 6.0) / 6.0,
        Unary::Gelu => x * normal_distribution(x),
        Unary::GeluTanh => 0.5 * x * (1.0 + gelu_argument(x).tanh()),
        Unary::Softplus => larger(x, 0.0) + (-x.abs()).exp().ln_1p(),
        Unary::Exp => x.exp(),
        Unary::Log => x.ln(),
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => x.sqrt().recip(),
        Unary::Square => x.powi(2),
        Unary::Abs => x.abs(),
        Unary::Negate => -x,
        Unary::AddScalar(c) => x + f64::from(c),
        Unary::MultiplyScalar(c) => x * f64::from(c),
        Unary::MaximumScalar(c) => larger(x, f64::from(c)),
        Unary::PowerScalar(c) => x.powf(f64::from(c)),
        Unary::Huber(delta) => match f64::from(delta) {
            delta if x.abs() <= delta => x.powi(2) / 2.0,
            delta => delta * x.abs() - delta.powi(2) / 2.0,
        },
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tan => x.tan(),
        Unary::Asin => x.asin(),
        Unary::Acos => x.acos(),
        Unary::Atan => x.atan(),
        Unary::Sinh => x.sinh(),
        Unary::Cosh => x.cosh(),
        Unary::Asinh => x.asinh(),
        Unary::Acosh => x.acosh(),
        Unary::Atanh => x.atanh(),
        Unary::Erf => erf(x),
        Unary::ErfInv => inverse_erf(x),
        Unary::Log1p => x.ln_1p(),
        Unary::Expm1 => x.exp_m1(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round_ties_even(),
        Unary::Trunc => x.trunc(),
        Unary::Sign if x == 0.0 || x.is_nan() => x,
        Unary::Sign => x.signum(),
        Unary::IsNan => f64::from(x.is_nan()),
        Unary::IsFinite => f64::from(x.is_finite()),
        Unary::Detach => x,
    }
}

fn slope_at_input(op: Unary, x: f64) -> f64 {
    match op {
        Unary::LeakyRelu(slope) => step(x) + (1.0 - step(x)) * f64::from(slope),
        Unary::HardSigmoid => step(3.0 - x.abs()) / 6.0,
        Unary::Swish => sigmoid(x) + x * sigmoid(x) * sigmoid(-x),
        Unary::HardSwish if x.abs() >= 3.0 => step(x),
        Unary::HardSwish => x / 3.0 + 0.5,
        Unary::Gelu => normal_distribution(x) + x * (-x * x / 2.0).exp() / (2.0 * PI).sqrt(),
        Unary::GeluTanh => {
            let argument_slope = (2.0 / PI).sqrt() * (1.0 + 3.0 * 0.044715 * x.powi(2));
            let tanh = gelu_argument(x).tanh();
            0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh.powi(2)) * argument_slope
        }
        Unary::Log => 1.0 / x,
        Unary::Square => 2.0 * x,
        Unary::Abs if x == 0.0 => 0.0,
        Unary::Abs => x.signum(),
        Unary::MaximumScalar(c) => f64::from(x >= f64::from(c)),
        Unary::PowerScalar(c) => f64::from(c) * x.powf(f64::from(c) - 1.0),
        Unary::Huber(delta) => x.clamp(-f64::from(delta), f64::from(delta)),
        Unary::Sin => x.cos(),
        Unary::Cos => -x.sin(),
        Unary::Tan => x.cos().powi(-2),
        Unary::Asin => (1.0 - x * x).sqrt().recip(),
        Unary::Acos => -(1.0 - x * x).sqrt().recip(),
        Unary::Atan => (1.0 + x * x).recip(),
        Unary::Sinh => x.cosh(),
        Unary::Cosh => x.sinh(),
        Unary::Asinh => (1.0 + x * x).sqrt().recip(),
        Unary::Acosh => (x * x - 1.0).sqrt().recip(),
        Unary::Atanh => (1.0 - x * x).recip(),
        Unary::Erf => FRAC_2_SQRT_PI * (-x * x).exp(),
        Unary::ErfInv => inverse_erf(x).powi(2).exp() / FRAC_2_SQRT_PI,
        Unary::Log1p => (1.0 + x).recip(),
        Unary::Expm1 => x.exp(),
        _ => unreachable!("{op:?} does not save its argument"),
    }
}

fn slope_at_output(op: Unary, y: f64) -> f64 {
    match op {
        Unary::Relu => step(y),
        Unary::Relu6 => step(y) * step(6.0 - y),
        // alpha e^x = y + alpha
        Unary::Elu(_) if y > 0.0 => 1.0,
        Unary::Elu(alpha) => y + f64::from(alpha),
        Unary::Sigmoid => y * (1.0 - y),
        Unary::Tanh => 1.0 - y.powi(2),
        // The sigmoid of x, said by y.
        Unary::Softplus => 1.0 - (-y).exp(),
        Unary::Exp => y,
        Unary::Sqrt => 0.5 / y,
        Unary::Rsqrt => -0.5 * y.powi(3),
        _ => unreachable!("{op:?} does not save its result"),
    }
}

fn constant_slope(op: Unary) -> f64 {
    match op {
        Unary::Negate => -1.0,
        Unary::AddScalar(_) => 1.0,
        Unary::MultiplyScalar(c) => f64::from(c),
        op if op.is_flat() => 0.0,
        _ => unreachable!("the slope of {op:?} is not constant"),
    }
}

/// 1 above 0, else 0.
fn step(x: f64) -> f64 {
    f64::from(x > 0.0)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn gelu_argument(x: f64) -> f64 {
    (2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))
}

fn normal_distribution(x: f64) -> f64 {
    0.5 * (1.0 + erf(x * FRAC_1_SQRT_2))
}

/// `2/sqrt(pi) e^(-x^2) sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1))`: all terms have one sign, so nothing cancels.
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// Newton's method from Winitzki's approximation.
fn inverse_erf(x: f64) -> f64 {
    if x.abs() >= 1.0 || x.is_nan() {
        return if x.abs() == 1.0 { x * f64::INFINITY } else { f64::NAN };
    }
    let logarithm = ((1.0 - x) * (1.0 + x)).ln();
    let half = 2.0 / (PI * 0.147) + logarithm / 2.0;
    let mut y = ((half * half - logarithm / 0.147).sqrt() - half).max(0.0).sqrt().copysign(x);
    for _ in 0..60 {
        y -= (erf(y) - x) / (FRAC_2_SQRT_PI * (-y * y).exp());
    }
    y
}
