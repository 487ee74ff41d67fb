//! The devices, their limits and what is free of them.

use crate::device_request::limits_note;
use crate::{Bytes, DeviceRequest, Note};
use plimsoll_memory::{Device, DeviceError, HostMemory, Promise, Registry};
use serde::Serialize;

/// The devices that there are or would be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DevicesReport {
    /// The logical devices.
    pub devices: Vec<DeviceReport>,
    /// Where the host's figures come from.
    pub host: HostReport,
    /// Runs of the user that live now.
    pub runs: Vec<RunReport>,
    /// What the caller should know.
    pub notes: Vec<Note>,
}

/// A run that has promised to take some of the host's memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// The process.
    pub process: u32,
    /// What it runs.
    pub who: String,
    /// What it will take at most.
    pub promised_bytes: Bytes,
    /// What the whole process has by now, where the system tells.
    pub resident_bytes: Option<Bytes>,
}

/// One logical device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// The physical device it is a part of.
    pub physical: String,
    /// What kind of device that is.
    pub kind: String,
    /// What the physical device has.
    pub capacity_bytes: Bytes,
    /// What it may hold.
    pub limit_bytes: Bytes,
    /// What is reserved.
    pub reserved_bytes: Bytes,
    /// What is in use; of a whole physical device, what other runs have promised themselves of it.
    pub in_use_bytes: Bytes,
    /// The largest block that could be had.
    pub largest_free_bytes: Bytes,
    /// The share of the free bytes that is not in one piece.
    pub fragmentation: f64,
    /// What of the physical device no logical device has.
    pub unassigned_bytes: Bytes,
}

/// Where the host's figures come from; nothing where the system does not say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostReport {
    /// All of its memory.
    pub total_bytes: Option<Bytes>,
    /// What this process may have.
    pub cgroup_limit_bytes: Option<Bytes>,
    /// Of that, what is not taken yet.
    pub cgroup_left_bytes: Option<Bytes>,
    /// What new programs could get without swapping.
    pub available_bytes: Option<Bytes>,
    /// What other runs of the user have promised to take and do not have yet.
    pub promised_bytes: Bytes,
    /// What is left to others.
    pub reserve_bytes: Option<Bytes>,
    /// The limit where none is given.
    pub automatic_limit_bytes: Option<Bytes>,
}

impl DevicesReport {
    /// The devices that a request would make.
    pub fn of(request: &DeviceRequest) -> Result<Self, DeviceError> {
        let others = Registry::of_user().map_or(Vec::new(), |registry| registry.others());
        let memory = HostMemory::beside(&others);
        let devices = request.all(&memory)?;
        let notes = limits_note(&devices, &memory).into_iter().collect();
        let mut devices: Vec<DeviceReport> = devices.iter().map(device).collect();
        if let ([whole], true) = (&mut devices[..], request.split.is_empty()) {
            let promised = others.iter().map(|promise| promise.bytes.0).fold(0, u64::saturating_add);
            whole.in_use_bytes = Bytes(whole.in_use_bytes.0.saturating_add(promised));
        }
        Ok(Self { devices, host: host(&memory), runs: others.into_iter().map(run).collect(), notes })
    }
}

fn device(device: &Device) -> DeviceReport {
    let (physical, figures) = (device.physical(), device.figures());
    DeviceReport {
        name: device.name().to_string(),
        physical: physical.name().to_string(),
        kind: physical.kind().to_string(),
        capacity_bytes: physical.capacity(),
        limit_bytes: figures.limit,
        reserved_bytes: figures.reserved,
        in_use_bytes: figures.in_use,
        largest_free_bytes: figures.largest_free,
        fragmentation: figures.fragmentation(),
        unassigned_bytes: physical.unassigned(),
    }
}

fn run(promise: Promise) -> RunReport {
    let Promise { process, who, bytes, resident } = promise;
    RunReport { process, who, promised_bytes: bytes, resident_bytes: resident }
}

fn host(memory: &HostMemory) -> HostReport {
    HostReport {
        total_bytes: memory.total,
        cgroup_limit_bytes: memory.cgroup.map(|cgroup| cgroup.limit),
        cgroup_left_bytes: memory.cgroup.map(|cgroup| cgroup.left),
        available_bytes: memory.available,
        promised_bytes: memory.promised,
        reserve_bytes: memory.reserve(),
        automatic_limit_bytes: memory.automatic_limit(),
    }
}
