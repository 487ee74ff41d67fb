//! The CPU kernels of casts. Elements of the same size can be cast in place: the output then holds the bits of the
//! argument.

use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use crate::kernels::{Input, Output};
use half::f16;
use plimsoll_graph::ElementType;
use plimsoll_graph::op::Cast;
use rayon::prelude::*;

impl CpuKernel for Cast {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        use ElementType::{Bf16, F16, F32, I32};
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        match (x.tensor().element, self.to) {
            (F32, F32) => floats_to_floats(x, y, |x| x),
            (I32, F32) => match x.replaced_by() {
                Some(_) => floats_to_floats(x, y, |bits| bits.to_bits().cast_signed() as f32),
                None => convert(x.i32(), y.f32(), |x| x as f32),
            },
            (F16, F32) => convert(x.bits16(), y.f32(), f32_from_f16),
            (Bf16, F32) => convert(x.bits16(), y.f32(), f32_from_bf16),
            (I32, I32) => ints_to_ints(x, y, |x| x),
            (F32, I32) => match x.replaced_by() {
                Some(_) => ints_to_ints(x, y, |bits| f32::from_bits(bits.cast_unsigned()) as i32),
                None => convert(x.f32(), y.i32(), |x| x as i32),
            },
            (F16, I32) => convert(x.bits16(), y.i32(), |x| f32_from_f16(x) as i32),
            (Bf16, I32) => convert(x.bits16(), y.i32(), |x| f32_from_bf16(x) as i32),
            (F32, F16) => convert(x.f32(), y.bits16(), f16_from_f32),
            (F32, Bf16) => convert(x.f32(), y.bits16(), bf16_from_f32),
            (I32, F16) => convert(x.i32(), y.bits16(), |x| f16_from_f32(f32_with_mark(x))),
            (I32, Bf16) => convert(x.i32(), y.bits16(), |x| bf16_from_f32(f32_with_mark(x))),
            (F16, F16) | (Bf16, Bf16) => halves_to_halves(x, y, |x| x),
            (F16, Bf16) => halves_to_halves(x, y, |x| bf16_from_f32(f32_from_f16(x))),
            (Bf16, F16) => halves_to_halves(x, y, |x| f16_from_f32(f32_from_bf16(x))),
        }
        Ok(())
    }
}

fn floats_to_floats(x: &Input, y: &mut Output, f: impl Fn(f32) -> f32 + Sync) {
    match x.replaced_by() {
        Some(_) => convert_in_place(y.f32(), f),
        None => convert(x.f32(), y.f32(), f),
    }
}

fn ints_to_ints(x: &Input, y: &mut Output, f: impl Fn(i32) -> i32 + Sync) {
    match x.replaced_by() {
        Some(_) => convert_in_place(y.i32(), f),
        None => convert(x.i32(), y.i32(), f),
    }
}

fn halves_to_halves(x: &Input, y: &mut Output, f: impl Fn(u16) -> u16 + Sync) {
    match x.replaced_by() {
        Some(_) => convert_in_place(y.bits16(), f),
        None => convert(x.bits16(), y.bits16(), f),
    }
}

fn convert<X: Copy + Sync, Y: Send>(x: &[X], y: &mut [Y], f: impl Fn(X) -> Y + Sync) {
    y.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE)).for_each(|(y, x)| {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = f(*x));
    });
}

fn convert_in_place<Y: Copy + Send>(y: &mut [Y], f: impl Fn(Y) -> Y + Sync) {
    y.par_chunks_mut(PIECE).for_each(|y| y.iter_mut().for_each(|y| *y = f(*y)));
}

/// A float32 that is rounded to 16 bits as the integer itself would be: digits beyond its precision leave a mark in its
/// last one, so that nothing is rounded twice.
#[inline]
fn f32_with_mark(x: i32) -> f32 {
    let size = x.unsigned_abs();
    let kept = match size < 1 << 24 {
        true => size,
        false => (size & !0xff) | u32::from(size & 0xff != 0) << 8,
    };
    if x < 0 { -(kept as f32) } else { kept as f32 }
}

#[inline]
fn f32_from_f16(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

#[inline]
fn f16_from_f32(x: f32) -> u16 {
    f16::from_f32(x).to_bits()
}

#[inline]
fn f32_from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The upper half, rounded to nearest even: adding just under half of the last place, or half if that is odd, carries
/// where it must. Without branches, so that the loop uses vectors.
#[inline]
fn bf16_from_f32(x: f32) -> u16 {
    let bits = x.to_bits();
    let odd = (bits >> 16) & 1;
    let rounded = (bits.wrapping_add(0x7fff + odd) >> 16) as u16;
    let quiet_nan = (bits >> 16) as u16 | 0x40;
    if x.is_nan() { quiet_nan } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bfloat16_is_rounded_as_the_half_crate_does() {
        let special = [0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7f80_0001, 0x7fff_ffff, 0x7f7f_ffff, 1];
        let spread = (0..1u32 << 16).map(|i| i.wrapping_mul(0x9e37_79b9));
        let ties = (0..1u32 << 16).map(|upper| upper << 16 | 0x8000);
        for bits in special.into_iter().chain(spread).chain(ties) {
            let x = f32::from_bits(bits);
            assert_eq!(bf16_from_f32(x), half::bf16::from_f32(x).to_bits(), "{bits:#x}");
        }
    }
}
