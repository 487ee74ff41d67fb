//! Vectors of floats, as the microkernel sees them: one trait, and one implementation an instruction set.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;

/// Some floats that one instruction works on.
///
/// # Safety
/// All methods are unsafe, as they need a processor that has the instructions. Those that take an address need as many
/// elements behind it as the vector has lanes, or `count`, which is less.
pub(super) trait Vector: Copy {
    const LANES: usize;

    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// Loads the first `count` lanes; the others are zeros.
    unsafe fn load_some(from: *const f32, count: usize) -> Self;
    /// Stores the first `count` lanes.
    unsafe fn store_some(self, to: *mut f32, count: usize);
    unsafe fn add(self, other: Self) -> Self;
    /// `self * factor + addend`.
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self;
}

/// Four lanes suit the vectors that every x86-64 and AArch64 processor has.
pub(super) type Portable = [f32; 4];

impl<const N: usize> Vector for [f32; N] {
    const LANES: usize = N;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        [x; N]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller has `N` elements there, and an array needs no alignment beyond theirs.
        unsafe { from.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above.
        unsafe { to.cast::<Self>().write(self) }
    }

    #[inline(always)]
    unsafe fn load_some(from: *const f32, count: usize) -> Self {
        // SAFETY: the caller has `count` elements there.
        std::array::from_fn(|lane| if lane < count { unsafe { from.add(lane).read() } } else { 0.0 })
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, count: usize) {
        for (lane, x) in self.into_iter().enumerate().take(count) {
            // SAFETY: the caller has `count` elements there.
            unsafe { to.add(lane).write(x) }
        }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        // Not `f32::mul_add`: without an instruction for it that is a slow library call.
        std::array::from_fn(|lane| self[lane] * factor[lane] + addend[lane])
    }
}

/// A vector whose methods are an instruction each.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_vector {
    ($vector:ident, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $mul_add:ident,
     $load_some:expr, $store_some:expr) => {
        // SAFETY, for all blocks: the processor and the elements are there, as the caller promises.
        #[allow(clippy::undocumented_unsafe_blocks)]
        impl Vector for x86::$vector {
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(x: f32) -> Self {
                unsafe { x86::$splat(x) }
            }

            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                unsafe { x86::$load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                unsafe { x86::$store(to, self) }
            }

            #[inline(always)]
            unsafe fn load_some(from: *const f32, count: usize) -> Self {
                unsafe { $load_some(from, count) }
            }

            #[inline(always)]
            unsafe fn store_some(self, to: *mut f32, count: usize) {
                unsafe { $store_some(to, count, self) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                unsafe { x86::$add(self, other) }
            }

            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
                unsafe { x86::$mul_add(self, factor, addend) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
x86_vector!(
    __m256,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_fmadd_ps,
    |from, count| x86::_mm256_maskload_ps(from, lanes_below(count)),
    |to, count, vector| x86::_mm256_maskstore_ps(to, lanes_below(count), vector)
);

#[cfg(target_arch = "x86_64")]
x86_vector!(
    __m512,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_fmadd_ps,
    |from, count: usize| x86::_mm512_maskz_loadu_ps((1u32.wrapping_shl(count as u32) - 1) as u16, from),
    |to, count: usize, vector| x86::_mm512_mask_storeu_ps(
        to,
        (1u32.wrapping_shl(count as u32) - 1) as u16,
        vector
    )
);

/// The mask of the first lanes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn lanes_below(count: usize) -> x86::__m256i {
    // SAFETY: the caller promises the processor.
    unsafe {
        let lanes = x86::_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        x86::_mm256_cmpgt_epi32(x86::_mm256_set1_epi32(count as i32), lanes)
    }
}
