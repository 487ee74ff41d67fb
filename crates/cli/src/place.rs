//! `plimsoll place`: offsets for the buffers of a layout problem, and a picture of them.

mod pages;

use crate::failure::Failure;
use crate::output;
use crate::size::{alignment, size};
use crate::table::Table;
use crate::terminal;
use clap::Args;
use plimsoll::plan::place::pages::PageRules;
use plimsoll::plan::{Interval, Placement};
use plimsoll::reports::PlaceReport;
use plimsoll::trace::Alignment;
use plimsoll::{Bytes, PlaceRequest, Placed, Space};
use std::path::PathBuf;
use std::process::ExitCode;

/// `plimsoll place`
///
/// Exit codes: 0 fits the capacity or the pages (or neither was given), 1 does not fit, 2 bad input.
#[derive(Args)]
pub struct Place {
    /// CSV with a header and the columns id, lower, upper, size; a buffer lives from lower to just before upper; - for
    /// standard input
    #[arg(value_name = "PROBLEM")]
    pub problem: PathBuf,
    /// What everything should fit into, such as 1MiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub capacity: Option<Bytes>,
    /// How many nodes an exact search may visit where the quick way misses the capacity, or without one the floor
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub nodes: u64,
    /// Place into pages of at most this size instead of one piece of memory; no buffer lies across two pages
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["capacity", "nodes"])]
    pub page_size: Option<Bytes>,
    /// What offsets in a page are multiples of: a power of two, such as 256
    #[arg(long, value_name = "SIZE", default_value = "1", value_parser = alignment, requires = "page_size")]
    pub alignment: Alignment,
    /// Print the problem with an offset for each buffer (and its page), as CSV
    #[arg(long, conflicts_with = "json")]
    pub offsets: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// The height of the picture, in characters.
const HEIGHT: usize = 20;

/// Runs the command.
pub fn run(arguments: &Place) -> Result<ExitCode, Failure> {
    let (capacity, nodes, alignment) = (arguments.capacity, arguments.nodes, arguments.alignment);
    let into = match arguments.page_size {
        Some(size) => Space::Pages(PageRules { size, alignment }),
        None => Space::OnePiece { capacity, nodes },
    };
    match (PlaceRequest { problem: arguments.problem.clone(), into }).run()? {
        Placed::OnePiece(report) => {
            match arguments.offsets {
                true => output::document(&report.csv())?,
                false => output::report(arguments.json, &report, || as_text(&report))?,
            }
            Ok(ExitCode::from(u8::from(!report.fits)))
        }
        Placed::Pages(report) => {
            match arguments.offsets {
                true => output::document(&report.csv())?,
                false => output::report(arguments.json, &report, || pages::as_text(&report))?,
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn as_text(report: &PlaceReport) -> String {
    let picture = picture(&report.problem.intervals, &report.placement, terminal::chart_columns());
    format!("{}\n\n{picture}", as_table(&report.placement, report.capacity))
}

fn as_table(placement: &Placement, capacity: Option<Bytes>) -> String {
    let mut table = Table::new(["buffers", "floor", "peak", "fragmentation", "nodes"]);
    for column in 0..5 {
        table = table.right(column);
    }
    let lost = placement.peak.0 - placement.floor.0;
    table.row([
        placement.offsets.len().to_string(),
        placement.floor.to_string(),
        placement.peak.to_string(),
        format!("{:.2} %", 100.0 * lost as f64 / placement.peak.0.max(1) as f64),
        placement.nodes.to_string(),
    ]);
    let verdict = match capacity {
        None => String::new(),
        Some(capacity) if placement.peak <= capacity => format!("\n\nfits {capacity}"),
        Some(capacity) if placement.floor > capacity => {
            format!("\n\ndoes not fit {capacity}: the floor is above it")
        }
        Some(capacity) => format!("\n\ndoes not fit {capacity}: no placement was found"),
    };
    table.print() + &verdict
}

/// Space against time: time to the right, offsets upwards. A cell shows who is in its middle; `.` is free.
fn picture(intervals: &[Interval], placement: &Placement, width: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let from = intervals.iter().map(|interval| interval.live.start).min().unwrap_or(0);
    let steps = u128::from(intervals.iter().map(|interval| interval.live.end).max().unwrap_or(0) - from);
    let (width, height) = (steps.min(width as u128), u128::from(placement.peak.0).min(HEIGHT as u128));
    let middle = |cell: u128, all: u128, cells: u128| ((2 * cell + 1) * all / (2 * cells)) as u64;
    // Those cells whose middle lies in a range.
    let cells = |start: u64, end: u64, all: u128, count: u128| {
        (0..count).filter(move |&cell| (start..end).contains(&middle(cell, all, count)))
    };
    let mut rows = vec![vec![b'.'; width as usize]; height as usize];
    for (index, (interval, offset)) in intervals.iter().zip(&placement.offsets).enumerate() {
        let (begin, end) = (interval.live.start - from, interval.live.end - from);
        for row in cells(offset.0, offset.0 + interval.bytes.0, u128::from(placement.peak.0), height) {
            for column in cells(begin.into(), end.into(), steps, width) {
                rows[row as usize][column as usize] = LETTERS[index % LETTERS.len()];
            }
        }
    }
    let line = |(row, cells): (usize, Vec<u8>)| {
        let label = if row + 1 == height as usize { placement.peak.to_string() } else { String::new() };
        format!("{label:>10} |{}", String::from_utf8_lossy(&cells))
    };
    let lines: Vec<String> = rows.into_iter().enumerate().rev().map(line).collect();
    format!("{}\n{:>10} +{}", lines.join("\n"), "0 B", "-".repeat(width as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll::plan::place;

    #[test]
    fn the_picture_shows_time_to_the_right_and_offsets_upwards() {
        let one = |from, until, bytes| Interval { live: from..until, bytes: Bytes(bytes) };
        let intervals = [one(10, 14, 2), one(10, 12, 1), one(13, 14, 1)];
        let drawn = picture(&intervals, &place(&intervals), 72);
        let lines: Vec<&str> = drawn.lines().map(|line| &line[11..]).collect();
        assert_eq!(lines, ["|BB.C", "|AAAA", "|AAAA", "+----"]);
    }

    #[test]
    fn a_picture_of_many_buffers_has_its_size() {
        let one = |i: u32| Interval { live: i * 1000..i * 1000 + 40_000_000, bytes: Bytes(1 << 40) };
        let intervals: Vec<Interval> = (0..500).map(one).collect();
        let drawn = picture(&intervals, &place(&intervals), 72);
        assert_eq!(drawn.lines().count(), HEIGHT + 1);
        assert!(drawn.lines().all(|line| line.chars().count() == 72 + 12), "{drawn}");
    }
}
