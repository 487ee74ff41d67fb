//! Allocators: who decides which bytes of a device a tensor gets when there is no plan.
//!
//! They work on offsets inside regions, not on pointers, so the same code serves a simulation, host memory and a GPU
//! buffer. Where regions come from is [`Regions`]' business: a simulation only counts them, a device maps them.
//!
//! Equations that hold between any two calls and that tests recount:
//! - no two live blocks overlap, and every live block lies inside one region.
//! - `in_use = sum of the bytes of live blocks`, `reserved = sum of the bytes of regions`, `in_use <= reserved`.
//! - `fragmentation = (free - largest_free) / free` with `free = reserved - in_use`; 0 where nothing is free.
//!
//! Writing one's own takes one `impl`:
//! ```
//! use plimsoll_memory::{Address, Allocator, Block, FreeError, Refusal, Regions, Simulated, Statistics};
//! use plimsoll_trace::{Bytes, LabelId};
//!
//! /// A region for every block, given back at once.
//! #[derive(Default)]
//! struct Direct {
//!     live: std::collections::BTreeMap<Address, Bytes>,
//!     statistics: Statistics,
//! }
//!
//! impl Allocator for Direct {
//!     fn name(&self) -> &'static str {
//!         "direct"
//!     }
//!
//!     fn take(&mut self, bytes: Bytes, _: LabelId, regions: &mut dyn Regions) -> Result<Block, Refusal> {
//!         let region = regions.reserve(bytes).ok_or(Refusal { requested: bytes, largest_free: Bytes::ZERO })?;
//!         let address = Address { region, offset: Default::default() };
//!         self.live.insert(address, bytes);
//!         self.statistics.note_take(bytes);
//!         self.statistics.note_reserved(regions.reserved());
//!         Ok(Block { address, bytes })
//!     }
//!
//!     fn free(&mut self, address: Address, regions: &mut dyn Regions) -> Result<(), FreeError> {
//!         let bytes = self.live.remove(&address).ok_or(FreeError { address })?;
//!         regions.release(address.region);
//!         self.statistics.note_free(bytes);
//!         self.statistics.note_reserved(regions.reserved());
//!         Ok(())
//!     }
//!
//!     fn statistics(&self) -> Statistics {
//!         self.statistics
//!     }
//!
//!     fn blocks(&self) -> Box<dyn Iterator<Item = (Block, Option<LabelId>)> + '_> {
//!         Box::new(self.live.iter().map(|(&address, &bytes)| (Block { address, bytes }, Some(LabelId(0)))))
//!     }
//! }
//!
//! let mut regions = Simulated::new(Bytes::mib(1));
//! let mut direct = Direct::default();
//! let block = direct.take(Bytes(1000), LabelId(0), &mut regions).unwrap();
//! assert!(direct.take(Bytes::mib(1), LabelId(0), &mut regions).is_err());
//! direct.free(block.address, &mut regions).unwrap();
//! assert_eq!(direct.statistics().in_use, Bytes::ZERO);
//! ```

mod best_fit;
mod bfc;
mod bump;
mod chunks;
mod free_set;
mod heap;
mod named;
#[cfg(test)]
mod properties;
mod regions;
mod statistics;
mod thread_safe;
mod torch;

pub use best_fit::BestFit;
pub use bfc::{Bfc, BfcOptions};
pub use bump::Bump;
pub use named::{ALLOCATOR_NAMES, AllocatorOptions, UnknownAllocator, by_name};
pub use regions::{RegionId, Regions, Simulated};
pub use statistics::Statistics;
pub use thread_safe::Shared;
pub use torch::{Torch, TorchOptions, TorchSettingsError};

use plimsoll_trace::{Bytes, LabelId, Offset};

/// Decides which bytes of which region a block gets.
pub trait Allocator: Send {
    /// The name on the command line, such as `bfc`.
    fn name(&self) -> &'static str;

    /// A block of at least so many bytes for somebody, or why there is none. It may reserve regions for it.
    fn take(&mut self, bytes: Bytes, label: LabelId, regions: &mut dyn Regions) -> Result<Block, Refusal>;

    /// Takes back the block that begins at an address. It may release regions.
    fn free(&mut self, address: Address, regions: &mut dyn Regions) -> Result<(), FreeError>;

    /// How things stand.
    fn statistics(&self) -> Statistics;

    /// Every block of every region: the live ones with who they are for, the free ones with nobody. In no particular
    /// order.
    fn blocks(&self) -> Box<dyn Iterator<Item = (Block, Option<LabelId>)> + '_>;
}

/// Where a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The region.
    pub region: RegionId,
    /// From the start of the region.
    pub offset: Offset,
}

/// Bytes that belong to somebody until they are freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub address: Address,
    /// How long it really is, at least as long as what was asked for.
    pub bytes: Bytes,
}

/// A request that an allocator could not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no free block of {requested}; the largest has {largest_free}")]
pub struct Refusal {
    /// What was asked for.
    pub requested: Bytes,
    /// The largest free block at that moment.
    pub largest_free: Bytes,
}

/// A free of something that is not a live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no live block begins at {} of region {}", .address.offset.0, .address.region.0)]
pub struct FreeError {
    /// What was to be freed.
    pub address: Address,
}
