//! A device: memory with a limit, and the list of who holds how much of it.
//!
//! Equation, checked at every request: `sum(holders) <= limit`.

use crate::{Arena, Holder, OutOfMemory};
use plimsoll_trace::Bytes;
use std::sync::{Arc, Mutex, PoisonError};

/// Memory with a limit. Clones are the same device.
#[derive(Clone, Debug)]
pub struct Device {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    name: String,
    limit: Bytes,
    holders: Mutex<Vec<Holder>>,
}

impl Device {
    /// The host's memory, of which no more than `limit` is used.
    pub fn host(limit: Bytes) -> Self {
        let state = State { name: "host".to_string(), limit, holders: Mutex::new(Vec::new()) };
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
        self.holders().iter().map(|holder| holder.bytes).sum()
    }

    /// Maps an arena of exactly this capacity for somebody, or says why not.
    pub fn arena(&self, who: &str, capacity: Bytes) -> Result<Arena, OutOfMemory> {
        let mut holders = self.holders();
        let in_use: Bytes = holders.iter().map(|holder| holder.bytes).sum();
        let refuse = |holders: &[Holder], system: Option<String>| OutOfMemory {
            device: self.state.name.clone(),
            who: who.to_string(),
            requested: capacity,
            limit: self.state.limit,
            holders: holders.to_vec(),
            system,
        };
        if in_use.0.checked_add(capacity.0).is_none_or(|sum| sum > self.state.limit.0) {
            return Err(refuse(&holders, None));
        }
        let arena =
            Arena::map(self.clone(), capacity).map_err(|error| refuse(&holders, Some(error.to_string())))?;
        holders.push(Holder { who: who.to_string(), bytes: capacity });
        Ok(arena)
    }

    pub(crate) fn give_back(&self, bytes: Bytes) {
        let mut holders = self.holders();
        if let Some(index) = holders.iter().position(|holder| holder.bytes == bytes) {
            holders.remove(index);
        }
    }

    fn holders(&self) -> std::sync::MutexGuard<'_, Vec<Holder>> {
        // A panic elsewhere cannot leave the list half changed: every change is one push or one remove.
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
