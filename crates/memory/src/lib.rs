//! Devices with limits, arenas mapped on them, and out of memory as a value that carries its evidence.
//!
//! The embedded default is the host as a device with a limit: it needs no GPU and is what tests use.

mod allocator;
mod arena;
mod device;
mod host_regions;
mod mapping;
mod out_of_memory;
mod piece;
pub mod process;
pub mod replay;

pub use allocator::{
    ALLOCATOR_NAMES, Address, Allocator, AllocatorOptions, BestFit, Bfc, BfcOptions, Block, Bump, FreeError,
    Refusal, RegionId, Regions, Shared, Simulated, Statistics, Torch, TorchOptions, UnknownAllocator,
    by_name,
};
pub use arena::Arena;
pub use device::Device;
pub use host_regions::HostRegions;
pub use out_of_memory::{Holder, OutOfMemory};
