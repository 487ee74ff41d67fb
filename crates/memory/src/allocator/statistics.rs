//! How things stand with an allocator.

use plimsoll_trace::Bytes;

/// An allocator in numbers, kept up to date at every call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes of live blocks.
    pub in_use: Bytes,
    /// The most there were.
    pub peak_in_use: Bytes,
    /// Bytes of regions.
    pub reserved: Bytes,
    /// The most there were.
    pub peak_reserved: Bytes,
    /// The largest free block inside the regions.
    pub largest_free: Bytes,
    /// How many blocks are live.
    pub blocks: u64,
    /// How many were taken so far.
    pub takes: u64,
}

impl Statistics {
    /// What the regions hold beyond live blocks.
    pub fn free(&self) -> Bytes {
        self.reserved.saturating_sub(self.in_use)
    }

    /// The share of free bytes that is not in the largest free block.
    pub fn fragmentation(&self) -> f64 {
        let free = self.free();
        match free {
            Bytes::ZERO => 0.0,
            _ => free.saturating_sub(self.largest_free).0 as f64 / free.0 as f64,
        }
    }

    /// A block became live.
    pub fn note_take(&mut self, bytes: Bytes) {
        self.in_use += bytes;
        self.peak_in_use = self.peak_in_use.max(self.in_use);
        self.blocks += 1;
        self.takes += 1;
    }

    /// A block was freed.
    pub fn note_free(&mut self, bytes: Bytes) {
        self.in_use = self.in_use - bytes;
        self.blocks -= 1;
    }

    /// The regions have so many bytes now.
    pub fn note_reserved(&mut self, reserved: Bytes) {
        self.reserved = reserved;
        self.peak_reserved = self.peak_reserved.max(reserved);
    }
}
