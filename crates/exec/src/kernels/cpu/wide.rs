//! Loops compiled for wide vectors, where the processor has them.
//!
//! The crate is built for every x86-64 processor, whose vectors hold four floats. Neither version reorders or fuses
//! additions, so both give the same bits.

/// Defines a function twice, once compiled for AVX2, and calls the one that suits the processor. What its loops call
/// must be inlined to gain anything, which is why this is not a function that takes a closure: nobody can force that on
/// a closure.
macro_rules! wide {
    ($(#[$attribute:meta])* fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        fn $name($($argument: $kind),*) {
            #[inline(always)]
            fn plain($($argument: $kind),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn with_avx2($($argument: $kind),*) {
                    plain($($argument),*);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has been asked.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            plain($($argument),*);
        }
    };
}

pub(super) use wide;
