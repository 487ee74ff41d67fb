//! Devices with limits, arenas and regions mapped on them, and out of memory as a value that carries its evidence.
//!
//! As TensorFlow users know them: **physical** devices, a **visible** subset, and **logical** devices cut from one
//! physical device, each with a limit. Growth and a limit go together, the limit counts everything, and it can be
//! changed while the device is in use.
//!
//! ```
//! use plimsoll_memory::{Devices, Growth};
//! use plimsoll_trace::Bytes;
//!
//! let devices = Devices::discover();
//! let host = devices.find("host")?;
//! let [first, second] = [Bytes::mib(8), Bytes::mib(4)];
//! let parts = host.split(&[first, second], Growth::On)?;
//! assert_eq!(parts[1].name(), "host:1");
//!
//! let arena = parts[0].arena("weights", Bytes::mib(6), None)?;
//! assert!(parts[0].arena("more", Bytes::mib(3), None).is_err());
//! parts[0].resize(Bytes::mib(9))?;
//! assert!(parts[0].arena("more", Bytes::mib(3), None).is_ok());
//! assert!(parts[0].resize(Bytes::mib(5)).is_err(), "weights are in the way");
//! # drop(arena);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allocator;
mod arena;
mod books;
mod device;
mod device_error;
mod devices;
mod hardware;
mod host;
mod host_regions;
mod mapping;
mod out_of_memory;
mod physical;
mod piece;
pub mod process;
mod registry;
pub mod replay;
mod reserve;

pub use allocator::{
    ALLOCATOR_NAMES, Address, Allocator, AllocatorOptions, BestFit, Bfc, BfcOptions, Block, Bump, FreeError,
    Refusal, RegionId, Regions, Shared, Simulated, Statistics, Torch, TorchOptions, TorchSettingsError,
    UnknownAllocator, by_name,
};
pub use arena::{Arena, HostArena};
pub use books::Figures;
pub use device::{Device, Growth};
pub use device_error::DeviceError;
pub use devices::Devices;
pub use hardware::{Hardware, Memory};
pub use host::{Cgroup, Host, HostMemory};
pub use host_regions::HostRegions;
pub use mapping::Mapping;
pub use out_of_memory::{FreeBlocks, OutOfMemory, Reservation};
pub use physical::{PhysicalDevice, Share};
pub use registry::{Promise, Promised, Registry};
