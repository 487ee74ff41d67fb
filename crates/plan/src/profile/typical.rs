//! The profile that is used where none was measured.

use super::{Class, Cost, Profile};

/// Two threads of a processor with AVX2.
pub(super) fn profile() -> Profile {
    let costs = Class::ALL
        .iter()
        .map(|&class| (class, Cost { op: 1e-6, flop: 1e-11, cached_byte: 1e-11, memory_byte: 1e-10 }))
        .collect();
    Profile { machine: "typical".to_string(), threads: 2, calibrated: false, costs }
}
