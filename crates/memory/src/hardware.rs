//! What a physical device must be able to do. The host is one; a GPU is the same thing behind the same traits.
//!
//! Only the host's memory has addresses, and only who asks for them gets them ([`crate::HostArena`],
//! [`crate::HostRegions`]). Everybody else reads and writes by offset, so that memory behind a bus is no special case.

use crate::mapping::Mapping;
use plimsoll_trace::{Bytes, Offset};
use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A piece of hardware with memory of its own.
pub trait Hardware: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// The name people know it by, such as `host`.
    fn name(&self) -> &str;

    /// What it is, such as `host`.
    fn kind(&self) -> &'static str;

    /// The memory it has for us in all: what no sum of limits may exceed.
    fn capacity(&self) -> Bytes;

    /// The memory that is free at this moment, as far as anybody can tell.
    fn available(&self) -> Bytes;

    /// Maps memory that is taken as it is touched. It reads as zeros.
    fn map(&self, bytes: Bytes) -> std::io::Result<Mapping>;

    /// Maps memory that is taken at once. It reads as zeros.
    fn commit(&self, bytes: Bytes) -> std::io::Result<Mapping>;
}

/// Memory that only its device can address; dropping it gives it back. Callers keep to its length and do not touch a
/// range from two sides at once.
pub trait Memory: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// How many bytes there are.
    fn bytes(&self) -> Bytes;

    /// Copies a range to the host.
    fn read(&self, from: Offset, into: &mut [u8]);

    /// Copies bytes of the host into a range.
    fn write(&self, into: Offset, from: &[u8]);

    /// Overwrites a range with zeros.
    fn zero(&self, start: Offset, bytes: Bytes);

    /// Gives a range back to the system until it is touched again; it reads as zeros from then on. False where that
    /// cannot be done.
    fn discard(&self, start: Offset, bytes: Bytes) -> bool;
}
