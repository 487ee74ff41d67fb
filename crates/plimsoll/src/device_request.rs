//! The device of a job, as it is asked for: the whole host with a limit, or one of the parts it is cut into.

use crate::{Bytes, Note};
use plimsoll_memory::{Device, DeviceError, Devices, Growth, Host, HostMemory, PhysicalDevice};

/// A device as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRequest {
    /// Its name; with parts, the name of one of them, or of the physical device for the first.
    pub name: String,
    /// What it may hold, or with parts what they may come to; without it the automatic limit.
    pub memory: Option<Bytes>,
    /// The parts the physical device is cut into; none leaves it whole.
    pub split: Vec<PartRequest>,
    /// Whether memory is mapped as it is needed or all of it at once.
    pub growth: Growth,
}

/// A logical device to be made; without a name it gets a number.
#[derive(Clone, Debug, PartialEq)]
pub struct PartRequest {
    /// Its name.
    pub name: Option<String>,
    /// Its limit.
    pub limit: Bytes,
}

impl Default for DeviceRequest {
    /// The host with its automatic limit.
    fn default() -> Self {
        Self { name: "host".to_string(), memory: None, split: Vec::new(), growth: Growth::On }
    }
}

impl DeviceRequest {
    /// The device that is asked for.
    pub fn open(&self) -> Result<Device, DeviceError> {
        let (devices, memory) = (Devices::discover(), HostMemory::read());
        if self.split.is_empty() {
            return self.whole(devices.find(&self.name)?, &memory);
        }
        let mut parts = Vec::new();
        let mut chosen = None;
        for physical in devices.visible() {
            if physical.name() == self.name {
                chosen = Some(parts.len());
            }
            parts.extend(self.parts(physical)?);
        }
        let named = parts.iter().position(|part| part.name() == self.name);
        match named.or(chosen) {
            Some(position) => Ok(parts.swap_remove(position)),
            None => Err(DeviceError::Unknown {
                name: self.name.clone(),
                known: parts.iter().map(|part| part.name().to_string()).collect(),
            }),
        }
    }

    /// All logical devices that would be made, of every physical device that is visible.
    pub fn all(&self, memory: &HostMemory) -> Result<Vec<Device>, DeviceError> {
        let mut all = Vec::new();
        for physical in Devices::discover().visible() {
            match self.split.is_empty() {
                true => all.push(self.whole(physical, memory)?),
                false => all.extend(self.parts(physical)?),
            }
        }
        Ok(all)
    }

    fn whole(&self, physical: &PhysicalDevice, memory: &HostMemory) -> Result<Device, DeviceError> {
        let automatic = memory.automatic_limit().unwrap_or(physical.capacity());
        physical.logical(physical.name(), self.memory.unwrap_or(automatic), self.growth)
    }

    fn parts(&self, physical: &PhysicalDevice) -> Result<Vec<Device>, DeviceError> {
        let name = physical.name();
        let whole = match self.memory {
            // Checked against what there is; the parts are then cut from it.
            Some(most) => {
                physical.logical(name, most, Growth::On)?;
                PhysicalDevice::new(Host::of(most))
            }
            None => physical.clone(),
        };
        let part = |(index, PartRequest { name: own, limit }): (usize, &PartRequest)| {
            let name = own.clone().unwrap_or_else(|| format!("{name}:{index}"));
            whole.logical(&name, *limit, self.growth)
        };
        self.split.iter().enumerate().map(part).collect()
    }
}

/// Whether the limits of some devices are more than what is free now.
pub fn limits_note(devices: &[Device], memory: &HostMemory) -> Option<Note> {
    let limits: Bytes = devices.iter().map(Device::limit).sum();
    memory.left().filter(|left| limits > *left).map(|left| Note::Limits { limits, left })
}
