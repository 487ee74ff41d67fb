//! `plimsoll devices`: what there is, what may be used of it, and the logical devices that could be made of it.

use crate::failure::Failure;
use crate::notes;
use crate::output;
use crate::size::size;
use crate::table::Table;
use clap::Args;
use plimsoll::reports::{DevicesReport, HostReport, RunReport};
use plimsoll::{Bytes, DeviceRequest, PartRequest};
use std::process::ExitCode;

/// `plimsoll devices`
///
/// Without --memory a device gets an automatic limit: what the cgroup and the available memory leave, minus a reserve
/// of 5 % of that (at least 256 MiB, at most half). What other runs of the same user have promised to take is not left.
#[derive(Args)]
pub struct Devices {
    /// The limit of the host, or with --split what all its parts may come to
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<Bytes>,
    /// The logical devices to cut the host into, such as 1GiB,512MiB or left=1GiB,right=512MiB
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = part)]
    split: Vec<PartRequest>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(arguments: &Devices) -> Result<ExitCode, Failure> {
    let (memory, split) = (arguments.memory, arguments.split.clone());
    let report = DevicesReport::of(&DeviceRequest { memory, split, ..DeviceRequest::default() })?;
    output::report(arguments.json, &report, || as_text(&report))?;
    notes::tell(&report.notes);
    Ok(ExitCode::SUCCESS)
}

/// A logical device as it is written: `1GiB` or `left=1GiB`.
pub fn part(text: &str) -> Result<PartRequest, String> {
    match text.split_once('=') {
        Some((name, _)) if name.trim().is_empty() => Err("a name is missing before `=`".to_string()),
        Some((name, limit)) => Ok(PartRequest { name: Some(name.trim().to_string()), limit: size(limit)? }),
        None => Ok(PartRequest { name: None, limit: size(text)? }),
    }
}

fn as_text(report: &DevicesReport) -> String {
    let head =
        ["name", "kind", "capacity", "limit", "reserved", "in use", "largest free block", "fragmentation"];
    let mut table = (2..head.len()).fold(Table::new(head), Table::right);
    for device in &report.devices {
        table.row([
            device.name.clone(),
            device.kind.clone(),
            device.capacity_bytes.to_string(),
            device.limit_bytes.to_string(),
            device.reserved_bytes.to_string(),
            device.in_use_bytes.to_string(),
            device.largest_free_bytes.to_string(),
            format!("{:.0} %", 100.0 * device.fragmentation),
        ]);
    }
    let unassigned = match &report.devices[..] {
        [first, _, ..] => Some(first.unassigned_bytes),
        _ => None,
    };
    format!("{}{}\n\n{}", table.print(), runs(&report.runs), host(&report.host, unassigned))
}

/// The runs that live now.
fn runs(runs: &[RunReport]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["process", "run", "promised", "resident"]).right(2).right(3);
    for RunReport { process, who, promised_bytes, resident_bytes } in runs {
        let resident = resident_bytes.map_or("unknown".to_string(), |bytes| bytes.to_string());
        table.row([process.to_string(), who.clone(), promised_bytes.to_string(), resident]);
    }
    format!("\n\n{}", table.print())
}

/// Where the host's figures come from.
fn host(host: &HostReport, unassigned: Option<Bytes>) -> String {
    let size = |bytes: Option<Bytes>| bytes.map_or("unknown".to_string(), |bytes| bytes.to_string());
    let mut table = Table::new(["host", "", ""]).right(1).list();
    let mut row =
        |what: &str, bytes: String, note: &str| table.row([what.to_string(), bytes, note.to_string()]);
    row("memory", size(host.total_bytes), "in all");
    match host.cgroup_limit_bytes {
        Some(limit) => {
            row("cgroup limit", limit.to_string(), "what this process may have");
            row("cgroup left", size(host.cgroup_left_bytes), "of that, not taken yet");
        }
        None => row("cgroup limit", "none".to_string(), ""),
    }
    row("available", size(host.available_bytes), "what new programs could get without swapping");
    if host.promised_bytes > Bytes::ZERO {
        row("promised", host.promised_bytes.to_string(), "of that, what other runs will still take");
    }
    row(
        "reserve",
        size(host.reserve_bytes),
        "left to others: 5 % of what is left, at least 256 MiB, at most half",
    );
    row("automatic limit", size(host.automatic_limit_bytes), "the limit without --memory");
    if let Some(bytes) = unassigned {
        row("unassigned", bytes.to_string(), "has no logical device");
    }
    table.print()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_a_size_and_may_have_a_name() {
        let named = PartRequest { name: Some("left".to_string()), limit: Bytes::mib(512) };
        assert_eq!(part("left=512MiB"), Ok(named));
        assert_eq!(part("1GiB"), Ok(PartRequest { name: None, limit: Bytes::mib(1024) }));
        for text in ["", "=1GiB", "left=", "left", "1GiB=left"] {
            assert!(part(text).is_err(), "{text}");
        }
    }
}
