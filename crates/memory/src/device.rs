//! A device: memory with a limit, and the list of who holds how much of it.
//!
//! Equation, checked at every request: `sum(holders) <= limit`.

use crate::mapping::Mapping;
use crate::piece::Piece;
use crate::{Arena, Holder, OutOfMemory};
use plimsoll_trace::{Bytes, Offset};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory with a limit. Clones are the same device.
#[derive(Clone, Debug)]
pub struct Device {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    name: String,
    limit: Bytes,
    holders: Mutex<Holders>,
}

/// A line in a device's list of holders; tickets are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

#[derive(Debug, Default)]
struct Holders {
    list: BTreeMap<Ticket, Holder>,
    next: u64,
}

impl Device {
    /// The host's memory, of which no more than `limit` is used.
    pub fn host(limit: Bytes) -> Self {
        let state = State { name: "host".to_string(), limit, holders: Mutex::default() };
        Self { state: Arc::new(state) }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// What it may hold in all.
    pub fn limit(&self) -> Bytes {
        self.state.limit
    }

    /// What it holds now.
    pub fn in_use(&self) -> Bytes {
        self.holders().list.values().map(|holder| holder.bytes).sum()
    }

    /// Maps an arena of exactly this capacity for somebody, or says why not.
    pub fn arena(&self, who: &str, capacity: Bytes) -> Result<Arena, OutOfMemory> {
        self.take(who, capacity).map(Arena::new)
    }

    /// Maps so many bytes for somebody, if the limit leaves them.
    pub(crate) fn take(&self, who: &str, bytes: Bytes) -> Result<Piece, OutOfMemory> {
        let mut holders = self.holders();
        let in_use: Bytes = holders.list.values().map(|holder| holder.bytes).sum();
        let refuse = |holders: &Holders, system: Option<String>| OutOfMemory {
            device: self.state.name.clone(),
            who: who.to_string(),
            requested: bytes,
            limit: self.state.limit,
            holders: holders.list.values().cloned().collect(),
            system,
        };
        if bytes > self.state.limit.saturating_sub(in_use) {
            return Err(refuse(&holders, None));
        }
        let mapping = Mapping::new(bytes).map_err(|error| refuse(&holders, Some(error.to_string())))?;
        let ticket = Ticket(holders.next);
        holders.next += 1;
        holders.list.insert(ticket, Holder { who: who.to_string(), bytes });
        Ok(Piece { mapping: Arc::new(mapping), start: Offset::START, bytes, device: self.clone(), ticket })
    }

    pub(crate) fn give_back(&self, ticket: Ticket) {
        self.holders().list.remove(&ticket);
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        // A panic elsewhere cannot leave the list half changed: every change is one insert or one remove.
        self.state.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_memory_comes_back() {
        let device = Device::host(Bytes::mib(4));
        let first = device.arena("first", Bytes::mib(3)).unwrap();
        let refused = device.arena("second", Bytes::mib(2)).unwrap_err();
        assert_eq!((refused.free(), refused.requested), (Bytes::mib(1), Bytes::mib(2)));
        assert_eq!(refused.holders, [Holder { who: "first".to_string(), bytes: Bytes::mib(3) }]);
        assert!(refused.hint().contains("1.00 MiB"), "{}", refused.hint());
        drop(first);
        assert_eq!(device.in_use(), Bytes::ZERO);
        device.arena("second", Bytes::mib(2)).unwrap();
    }

    #[test]
    fn absurd_requests_are_refused() {
        let device = Device::host(Bytes(u64::MAX));
        let refused = device.arena("greedy", Bytes(1 << 60)).unwrap_err();
        assert!(refused.system.is_some());
    }
}
