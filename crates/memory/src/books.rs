//! The books of a logical device: its limit, what it has reserved, and who holds what.

use crate::reserve::Reserve;
use crate::{Growth, Mapping, Reservation};
use plimsoll_trace::{Bytes, Offset};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How things stand with a device at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// What it may hold.
    pub limit: Bytes,
    /// What it has from the physical device.
    pub reserved: Bytes,
    /// What arenas and regions have of that.
    pub in_use: Bytes,
    /// The most that one request could get.
    pub largest_free: Bytes,
}

/// A line in a device's books; tickets are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) limit: Bytes,
    pub(crate) holders: BTreeMap<Ticket, Entry>,
    next: u64,
    /// What was reserved at once: nothing with growth, one region without, one more for each time the limit was raised
    /// in use.
    pub(crate) reserves: Vec<Reserve>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) holder: Reservation,
    /// Where in the reserves it is, without growth.
    pub(crate) place: Option<(Arc<Mapping>, Offset)>,
}

impl Figures {
    /// The share of what the limit leaves that is not in the largest free block.
    pub fn fragmentation(&self) -> f64 {
        match self.limit.saturating_sub(self.in_use) {
            Bytes::ZERO => 0.0,
            free => free.saturating_sub(self.largest_free).0 as f64 / free.0 as f64,
        }
    }
}

impl Books {
    pub(crate) fn new(limit: Bytes) -> Self {
        Self { limit, holders: BTreeMap::new(), next: 0, reserves: Vec::new() }
    }

    pub(crate) fn in_use(&self) -> Bytes {
        self.holders.values().map(|entry| entry.holder.bytes).sum()
    }

    pub(crate) fn holders(&self) -> Vec<Reservation> {
        self.holders.values().map(|entry| entry.holder.clone()).collect()
    }

    pub(crate) fn reserved(&self, growth: Growth) -> Bytes {
        match growth {
            Growth::On => self.in_use(),
            Growth::Off => self.reserves.iter().map(Reserve::reserved).sum(),
        }
    }

    pub(crate) fn figures(&self, growth: Growth) -> Figures {
        let (limit, in_use) = (self.limit, self.in_use());
        let free = limit.saturating_sub(in_use);
        let largest = self.reserves.iter().map(Reserve::largest_free).max();
        // Without a reserve every request gets a mapping of its own, so all that is free is one block.
        Figures {
            limit,
            reserved: self.reserved(growth),
            in_use,
            largest_free: largest.unwrap_or(free).min(free),
        }
    }

    pub(crate) fn enter(&mut self, entry: Entry) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.holders.insert(ticket, entry);
        ticket
    }

    pub(crate) fn release(&mut self) -> Bytes {
        let before = self.reserved(Growth::Off);
        match self.holders.is_empty() {
            true => self.reserves.clear(),
            false => self.reserves.iter_mut().for_each(|reserve| _ = reserve.release()),
        }
        before - self.reserved(Growth::Off)
    }
}
