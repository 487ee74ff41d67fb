//! Allocators by the names they have on the command line.

use super::{Allocator, BestFit, Bfc, BfcOptions, Bump, Torch, TorchOptions};

/// The names of all allocators.
pub const ALLOCATOR_NAMES: [&str; 5] = ["bfc", "torch", "torch-expandable", "best-fit", "bump"];

/// The settings of all allocators; each takes its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AllocatorOptions {
    /// TensorFlow's.
    pub bfc: BfcOptions,
    /// PyTorch's; the name decides whether segments are expandable.
    pub torch: TorchOptions,
}

/// A name that no allocator has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no allocator `{name}`; there are {}", ALLOCATOR_NAMES.join(", "))]
pub struct UnknownAllocator {
    /// What was given.
    pub name: String,
}

/// The allocator of that name, without regions.
pub fn by_name(name: &str, options: &AllocatorOptions) -> Result<Box<dyn Allocator>, UnknownAllocator> {
    let torch = |expandable| Box::new(Torch::new(TorchOptions { expandable, ..options.torch }));
    match name {
        "bfc" => Ok(Box::new(Bfc::new(options.bfc))),
        "torch" => Ok(torch(false)),
        "torch-expandable" => Ok(torch(true)),
        "best-fit" => Ok(Box::new(BestFit::default())),
        "bump" => Ok(Box::new(Bump::default())),
        _ => Err(UnknownAllocator { name: name.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_allocators_of_that_name() {
        for name in ALLOCATOR_NAMES {
            assert_eq!(by_name(name, &AllocatorOptions::default()).unwrap().name(), name);
        }
        let error = by_name("bcf", &AllocatorOptions::default()).err().unwrap().to_string();
        assert_eq!(
            error,
            "there is no allocator `bcf`; there are bfc, torch, torch-expandable, best-fit, bump"
        );
    }
}
