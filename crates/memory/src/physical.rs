//! A physical device, and the logical devices that are cut from it.
//!
//! Equation, checked whenever a logical device is made or resized: `sum(limits) <= capacity`.

use crate::{Device, DeviceError, Growth, Hardware};
use plimsoll_trace::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A physical device. Clones are the same device.
#[derive(Clone, Debug)]
pub struct PhysicalDevice {
    hardware: Arc<dyn Hardware>,
    shares: Arc<Mutex<Shares>>,
}

/// The part of a physical device's memory that one logical device may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The logical device.
    pub name: String,
    /// Its limit.
    pub limit: Bytes,
}

/// Names a share; not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShareId(u64);

#[derive(Debug, Default)]
struct Shares {
    list: BTreeMap<ShareId, Share>,
    next: u64,
}

impl PhysicalDevice {
    /// A device nothing has been cut from.
    pub fn new(hardware: impl Hardware + 'static) -> Self {
        Self { hardware: Arc::new(hardware), shares: Arc::default() }
    }

    /// Its name, such as `host`.
    pub fn name(&self) -> &str {
        self.hardware.name()
    }

    /// What it is, such as `host`.
    pub fn kind(&self) -> &'static str {
        self.hardware.kind()
    }

    /// What the limits of its logical devices may come to.
    pub fn capacity(&self) -> Bytes {
        self.hardware.capacity()
    }

    /// What no logical device has a claim to.
    pub fn unassigned(&self) -> Bytes {
        self.shares().unassigned(self.capacity())
    }

    /// Cuts off a logical device. Its share is free again when the last clone of it and everything it holds is dropped.
    pub fn logical(&self, name: &str, limit: Bytes, growth: Growth) -> Result<Device, DeviceError> {
        if limit == Bytes::ZERO {
            return Err(DeviceError::Empty { name: name.to_string() });
        }
        let share = self.admit(Share { name: name.to_string(), limit })?;
        Device::new(self.clone(), share, name, limit, growth)
    }

    /// Cuts off several logical devices called `host:0`, `host:1` and so on; all or none.
    pub fn split(&self, limits: &[Bytes], growth: Growth) -> Result<Vec<Device>, DeviceError> {
        let name = |index: usize| format!("{}:{index}", self.name());
        let devices = limits.iter().enumerate().map(|(i, limit)| self.logical(&name(i), *limit, growth));
        devices.collect()
    }

    pub(crate) fn hardware(&self) -> &dyn Hardware {
        &*self.hardware
    }

    /// Gives a share another limit.
    pub(crate) fn resize(&self, id: ShareId, limit: Bytes) -> Result<(), DeviceError> {
        let mut shares = self.shares();
        let Share { name, limit: old } = shares.list[&id].clone();
        let left = shares.unassigned(self.capacity()) + old;
        if limit > left {
            return Err(self.refuse(&shares, Share { name, limit }, Some(id)));
        }
        shares.list.insert(id, Share { name, limit });
        Ok(())
    }

    pub(crate) fn give_back(&self, id: ShareId) {
        self.shares().list.remove(&id);
    }

    pub(crate) fn admit(&self, wanted: Share) -> Result<ShareId, DeviceError> {
        let mut shares = self.shares();
        if shares.list.values().any(|share| share.name == wanted.name) {
            return Err(DeviceError::Duplicate { name: wanted.name });
        }
        if wanted.limit > shares.unassigned(self.capacity()) {
            return Err(self.refuse(&shares, wanted, None));
        }
        let id = ShareId(shares.next);
        shares.next += 1;
        shares.list.insert(id, wanted);
        Ok(id)
    }

    fn refuse(&self, shares: &Shares, wanted: Share, except: Option<ShareId>) -> DeviceError {
        let others = shares.list.iter().filter(|(id, _)| Some(**id) != except);
        DeviceError::TooMuch {
            physical: self.name().to_string(),
            capacity: self.capacity(),
            shares: others.map(|(_, share)| share.clone()).collect(),
            wanted,
        }
    }

    fn shares(&self) -> MutexGuard<'_, Shares> {
        // A panic elsewhere cannot leave the list half changed: every change is one insert or one remove.
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shares {
    fn unassigned(&self, capacity: Bytes) -> Bytes {
        capacity.saturating_sub(self.list.values().map(|share| share.limit).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;

    fn host(mib: u64) -> PhysicalDevice {
        PhysicalDevice::new(Host::of(Bytes::mib(mib)))
    }

    #[test]
    fn limits_never_come_to_more_than_there_is() {
        let host = host(10);
        let devices = host.split(&[Bytes::mib(6), Bytes::mib(4)], Growth::On).unwrap();
        assert_eq!(devices.iter().map(Device::name).collect::<Vec<_>>(), ["host:0", "host:1"]);
        assert_eq!(host.unassigned(), Bytes::ZERO);
        let refused = host.logical("third", Bytes(1), Growth::On).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "third cannot have 1 B: of the 10.0 MiB of host, 10.0 MiB are assigned"
        );
        drop(devices);
        host.logical("third", Bytes::mib(10), Growth::On).unwrap();
    }

    #[test]
    fn a_split_that_fails_leaves_nothing_behind() {
        let host = host(10);
        let refused = host.split(&[Bytes::mib(8), Bytes::mib(3)], Growth::On).unwrap_err();
        let DeviceError::TooMuch { shares, wanted, .. } = &refused else { panic!("{refused}") };
        assert_eq!((shares[0].limit, wanted.limit), (Bytes::mib(8), Bytes::mib(3)));
        assert_eq!(host.unassigned(), Bytes::mib(10));
    }

    #[test]
    fn names_are_unique_and_limits_are_not_zero() {
        let host = host(10);
        let _one = host.logical("one", Bytes::mib(1), Growth::On).unwrap();
        let again = host.logical("one", Bytes::mib(1), Growth::On).unwrap_err();
        assert_eq!(again, DeviceError::Duplicate { name: "one".to_string() });
        let empty = host.logical("two", Bytes::ZERO, Growth::On).unwrap_err();
        assert_eq!(empty, DeviceError::Empty { name: "two".to_string() });
    }

    #[test]
    fn what_a_device_holds_keeps_its_share() {
        let host = host(10);
        let device = host.logical("one", Bytes::mib(8), Growth::On).unwrap();
        let arena = device.arena("a", Bytes::mib(1), None).unwrap();
        drop(device);
        assert_eq!(host.unassigned(), Bytes::mib(2));
        drop(arena);
        assert_eq!(host.unassigned(), Bytes::mib(10));
    }
}
