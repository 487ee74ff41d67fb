//! The physical devices of a machine, and which of them may be used.

use crate::{DeviceError, Host, PhysicalDevice};
use std::collections::BTreeSet;

/// All physical devices, and the visible ones among them; at first all are visible.
#[derive(Clone, Debug)]
pub struct Devices {
    physical: Vec<PhysicalDevice>,
    visible: BTreeSet<String>,
}

impl Devices {
    /// The devices of this machine: the host.
    pub fn discover() -> Self {
        Self::of(vec![PhysicalDevice::new(Host::discover())]).expect("one device has one name")
    }

    /// These devices, whose names must differ.
    pub fn of(physical: Vec<PhysicalDevice>) -> Result<Self, DeviceError> {
        let visible = unique(physical.iter().map(PhysicalDevice::name))?;
        Ok(Self { physical, visible })
    }

    /// All devices, visible or not.
    pub fn physical(&self) -> &[PhysicalDevice] {
        &self.physical
    }

    /// The devices that may be used.
    pub fn visible(&self) -> impl Iterator<Item = &PhysicalDevice> {
        self.physical.iter().filter(|device| self.visible.contains(device.name()))
    }

    /// Makes these devices the visible ones, and all others invisible.
    pub fn set_visible(&mut self, names: &[&str]) -> Result<(), DeviceError> {
        let known = |name: &str| self.physical.iter().any(|device| device.name() == name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            return Err(unknown(name, self.physical.iter()));
        }
        self.visible = unique(names.iter().copied())?;
        Ok(())
    }

    /// A visible device by its name.
    pub fn find(&self, name: &str) -> Result<&PhysicalDevice, DeviceError> {
        self.visible().find(|device| device.name() == name).ok_or_else(|| unknown(name, self.visible()))
    }
}

fn unknown<'a>(name: &str, devices: impl Iterator<Item = &'a PhysicalDevice>) -> DeviceError {
    let known = devices.map(|device| device.name().to_string()).collect();
    DeviceError::Unknown { name: name.to_string(), known }
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<BTreeSet<String>, DeviceError> {
    let mut set = BTreeSet::new();
    for name in names {
        if !set.insert(name.to_string()) {
            return Err(DeviceError::Duplicate { name: name.to_string() });
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hardware;
    use crate::mapping::Mapping;
    use plimsoll_trace::Bytes;

    /// A second device, made of the host's memory under another name.
    #[derive(Debug)]
    struct Card(&'static str);

    impl Hardware for Card {
        fn name(&self) -> &str {
            self.0
        }

        fn kind(&self) -> &'static str {
            "card"
        }

        fn capacity(&self) -> Bytes {
            Bytes::mib(8)
        }

        fn available(&self) -> Bytes {
            Bytes::mib(8)
        }

        fn map(&self, bytes: Bytes) -> std::io::Result<Mapping> {
            Mapping::lazy(bytes)
        }

        fn commit(&self, bytes: Bytes) -> std::io::Result<Mapping> {
            Mapping::committed(bytes)
        }
    }

    fn machine(names: &[&'static str]) -> Result<Devices, DeviceError> {
        let cards = names.iter().map(|name| PhysicalDevice::new(Card(name)));
        Devices::of([PhysicalDevice::new(Host::of(Bytes::mib(4)))].into_iter().chain(cards).collect())
    }

    #[test]
    fn only_visible_devices_are_found() {
        let mut devices = machine(&["card:0", "card:1"]).unwrap();
        assert_eq!(devices.visible().count(), 3);
        devices.set_visible(&["card:1"]).unwrap();
        assert_eq!(devices.find("card:1").unwrap().kind(), "card");
        let hidden = devices.find("host").unwrap_err();
        assert_eq!(hidden.to_string(), "there is no device `host`");
        assert_eq!(hidden.hint().unwrap(), "the devices are card:1");
        assert_eq!(devices.physical().len(), 3);
        devices.set_visible(&["host"]).unwrap();
        assert!(devices.find("host").is_ok());
    }

    #[test]
    fn unknown_and_repeated_names_are_refused() {
        let mut devices = machine(&["card"]).unwrap();
        let unknown = devices.set_visible(&["host", "crad"]).unwrap_err();
        assert_eq!(unknown.hint().unwrap(), "the devices are host, card");
        let duplicate = DeviceError::Duplicate { name: "card".to_string() };
        assert_eq!(devices.set_visible(&["card", "card"]), Err(duplicate.clone()));
        assert_eq!(devices.visible().count(), 2, "a refusal changes nothing");
        assert_eq!(machine(&["card", "card"]).unwrap_err(), duplicate);
    }

    #[test]
    fn this_machine_has_a_host() {
        let devices = Devices::discover();
        assert!(devices.find("host").unwrap().capacity() > Bytes::mib(1));
    }
}
