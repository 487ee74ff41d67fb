//! What a physical device must be able to do. The host is one; a GPU is the same thing behind the same trait.

use crate::mapping::Mapping;
use plimsoll_trace::Bytes;
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

    /// Maps memory that is taken as it is touched.
    fn map(&self, bytes: Bytes) -> std::io::Result<Mapping>;

    /// Maps memory that is taken at once.
    fn commit(&self, bytes: Bytes) -> std::io::Result<Mapping>;
}
