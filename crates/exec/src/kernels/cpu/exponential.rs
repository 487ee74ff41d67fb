//! The exponential and its relatives without branches and calls, so that the compiler turns loops over them into
//! vectors. They are marked for inlining because a call that stays a call spoils that.
//!
//! Method: the Cephes library's single-precision routines by Stephen Moshier. The tests hold them to a few units in the
//! last place.

/// Added to a float32 and taken away again, it rounds to an integer, which the lower bits show meanwhile: `1.5 2^23`.
const ROUNDING: f32 = 12_582_912.0;

/// `ln 2` in two parts, the first so short that its product with a small integer is exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// `e^x`
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    // Beyond these bounds the result is 0 or infinite anyway; NaN stays what it is.
    let x = x.clamp(-104.0, 89.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let exponent = shifted.to_bits().wrapping_sub(ROUNDING.to_bits()).cast_signed();
    let n = shifted - ROUNDING;
    let r = x - n * LN_2[0] - n * LN_2[1];
    let mut p = 1.987_569_1e-4;
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        p = p * r + coefficient;
    }
    let mantissa = p * r * r + r + 1.0;
    // In two steps, since 2^128 and the powers below 2^-126 are no normal numbers.
    let half = exponent >> 1;
    mantissa * power_of_2(half) * power_of_2(exponent.wrapping_sub(half))
}

/// `1 / (1 + e^-x)`
#[inline]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Hyperbolic tangent.
#[inline]
pub(super) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let far = 1.0 - 2.0 / (exp(2.0 * size) + 1.0);
    let z = x * x;
    let mut p = -5.704_988_7e-3;
    for coefficient in [2.063_909e-2, -5.373_971_6e-2, 0.133_314_42, -0.333_332_8] {
        p = p * z + coefficient;
    }
    let near = p * z * x + x;
    if size < 0.625 { near } else { far.copysign(x) }
}

#[inline]
fn power_of_2(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127).cast_unsigned()) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative error over a range.
    fn error(f: fn(f32) -> f32, wanted: fn(f64) -> f64, low: f32, high: f32) -> f64 {
        let points = (0..=200_000).map(|i| low + (high - low) * i as f32 / 200_000.0);
        let errors = points.map(|x| (f64::from(f(x)) / wanted(f64::from(x)) - 1.0).abs());
        errors.filter(|error| !error.is_nan()).fold(0.0, f64::max)
    }

    #[test]
    fn close_to_the_exact_functions() {
        assert!(error(exp, f64::exp, -87.0, 88.7) < 2e-7);
        assert!(error(exp, f64::exp, -0.01, 0.01) < 1.3e-7);
        assert!(error(tanh, f64::tanh, -12.0, 12.0) < 2.5e-7);
        assert!(error(tanh, f64::tanh, -0.01, 0.01) < 2e-7);
        assert!(error(sigmoid, |x| 1.0 / (1.0 + (-x).exp()), -80.0, 80.0) < 4e-7);
    }

    #[test]
    fn right_at_the_ends() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(1e30), f32::INFINITY);
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
        assert_eq!([tanh(-100.0), tanh(0.0), tanh(100.0)], [-1.0, 0.0, 1.0]);
        assert_eq!([sigmoid(-200.0), sigmoid(0.0), sigmoid(200.0)], [0.0, 0.5, 1.0]);
    }
}
