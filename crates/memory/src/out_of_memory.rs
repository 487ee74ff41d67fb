//! Out of memory, with everything one needs to understand it.

use plimsoll_trace::evidence::{self, Evidence, RefusedBy};
use plimsoll_trace::{Bytes, Label};
use std::fmt;

/// A request that a device could not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The device's name.
    pub device: String,
    /// Who asked.
    pub who: String,
    /// For how much.
    pub requested: Bytes,
    /// What the device may hold in all.
    pub limit: Bytes,
    /// Who holds what.
    pub holders: Vec<Reservation>,
    /// What is free inside the regions, where an allocator cuts blocks from regions.
    pub blocks: Option<Box<FreeBlocks>>,
    /// What the operating system said, if it was not the limit that refused.
    pub system: Option<String>,
}

/// Somebody who holds memory of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Who it is.
    pub who: String,
    /// How much they hold.
    pub bytes: Bytes,
}

/// The free blocks inside an allocator's regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeBlocks {
    /// Their bytes together.
    pub free: Bytes,
    /// The largest of them.
    pub largest: Bytes,
}

impl FreeBlocks {
    /// The share of free bytes that is not in the largest block.
    pub fn fragmentation(&self) -> f64 {
        match self.free {
            Bytes::ZERO => 0.0,
            free => free.saturating_sub(self.largest).0 as f64 / free.0 as f64,
        }
    }
}

impl OutOfMemory {
    /// What the limit leaves.
    pub fn free(&self) -> Bytes {
        self.limit.saturating_sub(self.holders.iter().map(|holder| holder.bytes).sum())
    }

    /// The largest free block inside the regions, where an allocator cuts blocks from regions.
    pub fn largest_free(&self) -> Option<Bytes> {
        self.blocks.as_ref().map(|blocks| blocks.largest)
    }

    /// The fragmentation of the regions, where an allocator cuts blocks from regions.
    pub fn fragmentation(&self) -> Option<f64> {
        self.blocks.as_ref().map(|blocks| blocks.fragmentation())
    }

    /// As the document that failures and logs carry.
    pub fn evidence(&self) -> Evidence {
        let named = |name: &str| Label { value: name.to_string(), ..Label::default() };
        let mut holders: Vec<evidence::Holder> = (self.holders.iter())
            .map(|Reservation { who, bytes }| evidence::Holder { label: named(who), bytes: *bytes })
            .collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
        Evidence {
            version: evidence::VERSION,
            step: None,
            device: Some(self.device.clone()),
            asked_by: named(&self.who),
            requested: self.requested,
            limit: self.limit,
            refused_by: RefusedBy::Device { system: self.system.clone() },
            holders,
        }
    }

    /// What would help, in a sentence.
    pub fn hint(&self) -> String {
        let missing = self.requested.saturating_sub(self.free().max(self.largest_free().unwrap_or_default()));
        match &self.system {
            Some(said) if said.contains("limit on") => {
                "raise the limit of the process (`ulimit -v` shows it), or take fewer threads and a smaller budget".to_string()
            }
            Some(_) => "take a smaller budget, or end something else that holds memory".to_string(),
            None if self.in_pieces() => {
                "enough is free, but in pieces: a plan gives every tensor its place beforehand and leaves no gaps".to_string()
            }
            None => format!("it takes {missing} more memory, or a plan that needs {missing} less"),
        }
    }

    /// Whether the free bytes would do if they were one block.
    fn in_pieces(&self) -> bool {
        let fits = |bytes: Bytes| bytes >= self.requested;
        self.blocks.as_ref().is_some_and(|blocks| fits(blocks.free) && !fits(blocks.largest))
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, who, requested, limit, .. } = self;
        let free = self.free();
        if let Some(said) = &self.system {
            return write!(
                f,
                "the operating system refused {requested} that {who} asked for on {device}: {said} ({free} of the device's {limit} are free)"
            );
        }
        write!(
            f,
            "{device} is out of memory: {who} asked for {requested}, but of its {limit} only {free} are free"
        )?;
        match &self.blocks {
            Some(blocks) => {
                let (FreeBlocks { free, largest }, percent) = (**blocks, 100.0 * blocks.fragmentation());
                write!(
                    f,
                    "; its regions have {free} free, the largest block {largest} (fragmentation {percent:.0} %)"
                )
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for OutOfMemory {}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(blocks: Option<FreeBlocks>) -> OutOfMemory {
        let holders = vec![Reservation { who: "regions".to_string(), bytes: Bytes::mib(90) }];
        let (device, who) = ("host".to_string(), "conv".to_string());
        let (requested, limit) = (Bytes::mib(30), Bytes::mib(100));
        OutOfMemory { device, who, requested, limit, holders, blocks: blocks.map(Box::new), system: None }
    }

    #[test]
    fn the_limit_is_named_where_it_is_what_refused() {
        let plain = refused(None);
        assert_eq!(
            plain.to_string(),
            "host is out of memory: conv asked for 30.0 MiB, but of its 100 MiB only 10.0 MiB are free"
        );
        assert_eq!(plain.hint(), "it takes 20.0 MiB more memory, or a plan that needs 20.0 MiB less");
        assert_eq!(plain.fragmentation(), None);
    }

    #[test]
    fn pieces_are_named_where_they_are_what_refused() {
        let pieces = refused(Some(FreeBlocks { free: Bytes::mib(40), largest: Bytes::mib(10) }));
        assert_eq!(pieces.fragmentation(), Some(0.75));
        let text = pieces.to_string();
        assert!(
            text.ends_with("its regions have 40.0 MiB free, the largest block 10.0 MiB (fragmentation 75 %)"),
            "{text}"
        );
        assert!(pieces.hint().contains("in pieces"), "{}", pieces.hint());
    }

    #[test]
    fn a_full_allocator_is_not_a_fragmented_one() {
        let full = refused(Some(FreeBlocks { free: Bytes::ZERO, largest: Bytes::ZERO }));
        assert_eq!(full.fragmentation(), Some(0.0));
        assert!(full.hint().contains("20.0 MiB more"), "{}", full.hint());
    }
}
