//! `plimsoll devices`: what there is, what may be used of it, and the logical devices that could be made of it.

use crate::arguments::{Devices as Arguments, Part};
use crate::failure::Failure;
use crate::table::Table;
use plimsoll::Bytes;
use plimsoll::memory::{Device, DeviceError, Devices, Growth, Host, HostMemory, PhysicalDevice};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let memory = HostMemory::read();
    let mut devices = Vec::new();
    for physical in Devices::discover().visible() {
        devices.extend(logical(physical, arguments.memory, &arguments.split, Growth::On, &memory)?);
    }
    match arguments.json {
        true => println!("{:#}", as_json(&devices, &memory)),
        false => println!("{}", as_text(&devices, &memory)),
    }
    let limits: Bytes = devices.iter().map(Device::limit).sum();
    if let Some(left) = memory.left().filter(|left| limits > *left) {
        eprintln!("note: the limits come to {limits}, but only {left} are free now");
    }
    Ok(ExitCode::SUCCESS)
}

/// The logical devices that would be made of a physical one: itself with its limit, or its parts.
pub fn logical(
    physical: &PhysicalDevice,
    limit: Option<Bytes>,
    split: &[Part],
    growth: Growth,
    memory: &HostMemory,
) -> Result<Vec<Device>, DeviceError> {
    let name = physical.name();
    if split.is_empty() {
        let automatic = memory.automatic_limit().unwrap_or(physical.capacity());
        return Ok(vec![physical.logical(name, limit.unwrap_or(automatic), growth)?]);
    }
    let whole = match limit {
        // Checked against what there is; the parts are then cut from it.
        Some(most) => {
            physical.logical(name, most, Growth::On)?;
            PhysicalDevice::new(Host::of(most))
        }
        None => physical.clone(),
    };
    let part = |(index, Part { name: own, limit }): (usize, &Part)| {
        let name = own.clone().unwrap_or_else(|| format!("{name}:{index}"));
        whole.logical(&name, *limit, growth)
    };
    split.iter().enumerate().map(part).collect()
}

fn as_text(devices: &[Device], memory: &HostMemory) -> String {
    let head =
        ["name", "kind", "capacity", "limit", "reserved", "in use", "largest free block", "fragmentation"];
    let mut table = (2..head.len()).fold(Table::new(head), Table::right);
    for device in devices {
        let figures = device.figures();
        table.row([
            device.name().to_string(),
            device.physical().kind().to_string(),
            device.physical().capacity().to_string(),
            figures.limit.to_string(),
            figures.reserved.to_string(),
            figures.in_use.to_string(),
            figures.largest_free.to_string(),
            format!("{:.0} %", 100.0 * figures.fragmentation()),
        ]);
    }
    format!("{}\n\n{}", table.print(), host(devices, memory))
}

/// Where the host's figures come from.
fn host(devices: &[Device], memory: &HostMemory) -> String {
    let size = |bytes: Option<Bytes>| bytes.map_or("unknown".to_string(), |bytes| bytes.to_string());
    let mut table = Table::new(["host", "", ""]).right(1);
    let mut row =
        |what: &str, bytes: String, note: &str| table.row([what.to_string(), bytes, note.to_string()]);
    row("memory", size(memory.total), "in all");
    match memory.cgroup {
        Some(cgroup) => {
            row("cgroup limit", cgroup.limit.to_string(), "what this process may have");
            row("cgroup left", cgroup.left.to_string(), "of that, not taken yet");
        }
        None => row("cgroup limit", "none".to_string(), ""),
    }
    row("available", size(memory.available), "what new programs could get without swapping");
    row(
        "reserve",
        size(memory.reserve()),
        "left to others: 5 % of what is left, at least 256 MiB, at most half",
    );
    row("automatic limit", size(memory.automatic_limit()), "the limit without --memory");
    if let [first, _, ..] = devices {
        row("unassigned", first.physical().unassigned().to_string(), "has no logical device");
    }
    table.print()
}

fn as_json(devices: &[Device], memory: &HostMemory) -> Value {
    let device = |device: &Device| {
        let (physical, figures) = (device.physical(), device.figures());
        json!({
            "name": device.name(),
            "physical": physical.name(),
            "kind": physical.kind(),
            "capacity_bytes": physical.capacity(),
            "limit_bytes": figures.limit,
            "reserved_bytes": figures.reserved,
            "in_use_bytes": figures.in_use,
            "largest_free_bytes": figures.largest_free,
            "fragmentation": figures.fragmentation(),
        })
    };
    json!({
        "devices": devices.iter().map(device).collect::<Vec<_>>(),
        "host": {
            "total_bytes": memory.total,
            "cgroup_limit_bytes": memory.cgroup.map(|cgroup| cgroup.limit),
            "cgroup_left_bytes": memory.cgroup.map(|cgroup| cgroup.left),
            "available_bytes": memory.available,
            "reserve_bytes": memory.reserve(),
            "automatic_limit_bytes": memory.automatic_limit(),
        },
    })
}
