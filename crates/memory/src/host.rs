//! The host as a physical device: what the machine has, what a cgroup allows of it, and what is free.

mod cgroup;
mod meminfo;

pub use cgroup::Cgroup;

use crate::mapping::Mapping;
use crate::{Hardware, Promise, Registry};
use plimsoll_trace::Bytes;

/// The host's memory.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    capacity: Bytes,
}

/// What the operating system says about the host's memory at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemory {
    /// What the machine has, where the system tells.
    pub total: Option<Bytes>,
    /// What new programs could get without swapping, where the system tells.
    pub available: Option<Bytes>,
    /// What the tightest cgroup of this process allows, if one limits it.
    pub cgroup: Option<Cgroup>,
    /// What other runs of ours have promised to take and do not have yet.
    pub promised: Bytes,
}

impl Host {
    /// The host as it is: what the machine has, or what the cgroup allows where that is less.
    pub fn discover() -> Self {
        Self { capacity: HostMemory::read().capacity().unwrap_or(Bytes(u64::MAX)) }
    }

    /// A host of which so much is used, whatever it has.
    pub fn of(capacity: Bytes) -> Self {
        Self { capacity }
    }
}

impl Hardware for Host {
    fn name(&self) -> &str {
        "host"
    }

    fn kind(&self) -> &'static str {
        "host"
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn available(&self) -> Bytes {
        HostMemory::read().left().unwrap_or(self.capacity)
    }

    fn map(&self, bytes: Bytes) -> std::io::Result<Mapping> {
        Mapping::lazy(bytes)
    }

    fn commit(&self, bytes: Bytes) -> std::io::Result<Mapping> {
        Mapping::committed(bytes)
    }
}

impl HostMemory {
    /// Asks the operating system.
    pub fn read() -> Self {
        let others = Registry::of_user().map_or(Vec::new(), |registry| registry.others());
        Self::beside(&others)
    }

    /// Asks the operating system, where others have promised to take something.
    pub fn beside(others: &[Promise]) -> Self {
        let promised = others.iter().map(|promise| promise.outstanding().0).fold(0, u64::saturating_add);
        let promised = Bytes(promised);
        Self { promised, ..Self::from_files(&|path| std::fs::read_to_string(path).ok()) }
    }

    /// What the files of `/proc` and of the cgroups come to; `read` gives the text of a file.
    fn from_files(read: &dyn Fn(&str) -> Option<String>) -> Self {
        let meminfo = read("/proc/meminfo").unwrap_or_default();
        Self {
            total: meminfo::field(&meminfo, "MemTotal"),
            available: meminfo::field(&meminfo, "MemAvailable"),
            cgroup: cgroup::tightest(read),
            promised: Bytes::ZERO,
        }
    }

    /// What this process could ever have: the machine's memory, or the cgroup's limit where that is less.
    pub fn capacity(&self) -> Option<Bytes> {
        least(self.total, self.cgroup.map(|cgroup| cgroup.limit))
    }

    /// What it could have now, beside what other runs of ours will still take.
    pub fn left(&self) -> Option<Bytes> {
        let left = least(self.available, self.cgroup.map(|cgroup| cgroup.left))?;
        Some(left.saturating_sub(self.promised))
    }

    /// What an automatic limit leaves to everybody else: 5 % of what is left, at least 256 MiB, at most half of what is
    /// left.
    pub fn reserve(&self) -> Option<Bytes> {
        let left = self.left()?;
        Some(Bytes(left.0 / 20).max(Bytes::mib(256)).min(Bytes(left.0 / 2)))
    }

    /// The limit of a device that is given none: what is left without the reserve.
    pub fn automatic_limit(&self) -> Option<Bytes> {
        Some(self.left()? - self.reserve()?)
    }
}

fn least(a: Option<Bytes>, b: Option<Bytes>) -> Option<Bytes> {
    a.into_iter().chain(b).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn memory(available: u64, cgroup: Option<(u64, u64)>) -> HostMemory {
        let cgroup = cgroup.map(|(limit, left)| Cgroup { limit: Bytes(limit), left: Bytes(left) });
        let (total, available) = (Some(Bytes(64 * GIB)), Some(Bytes(available)));
        HostMemory { total, available, cgroup, promised: Bytes::ZERO }
    }

    #[test]
    fn the_automatic_limit_is_what_is_left_without_the_reserve() {
        let cases = [
            (memory(40 * GIB, None), 64 * GIB, 38 * GIB),
            (memory(40 * GIB, Some((8 * GIB, 4 * GIB))), 8 * GIB, 4 * GIB - (256 << 20)),
            (memory(2 * GIB, Some((8 * GIB, 4 * GIB))), 8 * GIB, 2 * GIB - (256 << 20)),
            (memory(40 * GIB, Some((GIB, 100 << 20))), GIB, 50 << 20),
            (memory(40 * GIB, Some((GIB, 0))), GIB, 0),
        ];
        for (memory, capacity, limit) in cases {
            assert_eq!(memory.capacity(), Some(Bytes(capacity)), "{memory:?}");
            assert_eq!(memory.automatic_limit(), Some(Bytes(limit)), "{memory:?}");
        }
    }

    #[test]
    fn what_others_have_promised_is_not_given_away_again() {
        let promised = HostMemory { promised: Bytes(30 * GIB), ..memory(40 * GIB, None) };
        assert_eq!(promised.automatic_limit(), Some(Bytes(10 * GIB - GIB / 2)));
        let absurd = HostMemory { promised: Bytes(u64::MAX), ..memory(40 * GIB, None) };
        assert_eq!(absurd.automatic_limit(), Some(Bytes::ZERO));
    }

    #[test]
    fn a_system_that_tells_nothing_gives_no_limit() {
        let silent = HostMemory::from_files(&|_| None);
        assert_eq!((silent, silent.automatic_limit()), (HostMemory::default(), None));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_tells() {
        let memory = HostMemory::read();
        assert!(memory.available.unwrap() <= memory.total.unwrap());
        assert!(memory.automatic_limit().unwrap() < memory.capacity().unwrap());
    }
}
