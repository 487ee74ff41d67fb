//! A diagnosis for a terminal: three lines first, the evidence below, what would help last.

use super::Diagnosis;
use super::step::PLANNED_STEP;
use crate::size;
use crate::table::Table;
use plimsoll_import::oomlog::{Chunk, Dump, Figure, RefusedBy, Region};
use plimsoll_trace::visible;

/// How wide the largest region is drawn at most, and what its figures take of a line.
const WIDTH: usize = 64;
const FIGURES: usize = 34;
/// How many regions, chunks and holders are listed.
const ROWS: usize = 12;

/// The whole diagnosis, with the room it likes.
pub fn print(diagnosis: &Diagnosis) -> String {
    print_within(diagnosis, None)
}

/// The whole diagnosis; its tables and pictures in lines of at most so many characters.
pub fn print_within(diagnosis: &Diagnosis, columns: Option<usize>) -> String {
    let dump = &diagnosis.dump;
    let sections = [
        diagnosis.summary.each_ref().map(|line| visible::line(line)).join("\n"),
        figures(dump, columns),
        regions(dump, columns),
        findings(diagnosis),
        holders(dump, columns),
        remedies(diagnosis),
        missing(dump),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    sections.join("\n\n")
}

fn figures(dump: &Dump, columns: Option<usize>) -> String {
    let rows = [
        ("asked for", dump.request),
        ("limit", dump.limit),
        ("pool", dump.pool),
        ("in use", dump.in_use),
        ("asked for of that", dump.requested_in_use),
        ("most in use before", dump.peak_in_use),
        ("free in the pool", dump.free),
        ("largest free block", dump.largest_free),
        ("device", dump.capacity),
        ("held by others", dump.others),
    ];
    if rows.iter().all(|(_, figure)| figure.is_none()) {
        return String::new();
    }
    let mut table = Table::new(["evidence", "size", "bytes", ""]).right(1).right(2);
    for (name, figure) in rows {
        if let Some(figure) = figure {
            table.row([
                name.to_string(),
                size::print(figure.bytes),
                figure.bytes.to_string(),
                certainty(&figure),
            ]);
        }
    }
    table.print_within(columns)
}

/// How well a figure is known, where that is not to the byte.
fn certainty(figure: &Figure) -> String {
    match (figure.at_least, figure.slack) {
        (true, _) => "at least: lines are missing".to_string(),
        (false, 0) => String::new(),
        (false, slack) => format!("rounded in the log, good to {}", size::print(slack)),
    }
}

/// The pool drawn with characters: a row a region, largest first.
fn regions(dump: &Dump, columns: Option<usize>) -> String {
    if dump.regions.is_empty() {
        return String::new();
    }
    let mut regions: Vec<&Region> = dump.regions.iter().collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.bytes));
    let largest = regions[0].bytes.max(1);
    let room = columns.map_or(WIDTH, |columns| columns.saturating_sub(FIGURES).clamp(8, WIDTH));
    let mut table = Table::new(["region", "in use", "free", ""]).right(0).right(1).right(2);
    for region in regions.iter().take(ROWS) {
        let free = region.free().0;
        let used: u64 = region.chunks.iter().filter(|chunk| chunk.in_use).map(|chunk| chunk.bytes).sum();
        let width = (room as u128 * u128::from(region.bytes) / u128::from(largest)).max(1) as usize;
        table.row([size::print(region.bytes), size::print(used), size::print(free), bar(region, width)]);
    }
    let rest = regions.len().saturating_sub(ROWS);
    let more = if rest > 0 { format!("\nand {rest} smaller regions") } else { String::new() };
    format!("{}{more}\n█ in use  ▒ both  ░ free  · not listed", table.print_within(columns))
}

/// What most of each cell is.
fn bar(region: &Region, width: usize) -> String {
    let mut cells = vec![(0u64, 0u64); width];
    for chunk in &region.chunks {
        fill(&mut cells, region, chunk);
    }
    let cell = |&(used, free): &(u64, u64)| {
        let whole = (region.bytes / width as u64).max(1);
        match (used, free) {
            _ if used + free < whole / 2 => '·',
            (_, 0) => '█',
            (0, _) => '░',
            _ if used > free.saturating_mul(9) => '█',
            _ if free > used.saturating_mul(9) => '░',
            _ => '▒',
        }
    };
    cells.iter().map(cell).collect()
}

/// Adds a chunk's bytes to the cells that it covers.
fn fill(cells: &mut [(u64, u64)], region: &Region, chunk: &Chunk) {
    let whole = u128::from(region.bytes.max(1));
    let count = cells.len() as u128;
    let start = u128::from(chunk.address.saturating_sub(region.base).min(region.bytes));
    let end = (start + u128::from(chunk.bytes)).min(whole);
    let first = (start * count / whole) as usize;
    let last = (end * count).div_ceil(whole).min(count) as usize;
    for (index, cell) in cells.iter_mut().enumerate().take(last).skip(first) {
        let (from, to) = (index as u128 * whole / count, (index as u128 + 1) * whole / count);
        let covered = end.min(to).saturating_sub(start.max(from)) as u64;
        let side = if chunk.in_use { &mut cell.0 } else { &mut cell.1 };
        *side = side.saturating_add(covered);
    }
}

fn findings(diagnosis: &Diagnosis) -> String {
    let mut lines = vec![format!("cause: {}", diagnosis.cause())];
    for finding in &diagnosis.findings {
        let sign = if finding.decisive { "!" } else { "-" };
        lines.push(format!("{sign} {}: {}", finding.reason.title(), finding.text));
        let blockers = finding.window.iter().flat_map(|window| &window.blockers);
        for chunk in blockers.clone().take(4) {
            let who = diagnosis.dump.holder(chunk).map_or(String::new(), |who| format!(" ({who})"));
            lines.push(format!("    0x{:x}  {}{who}", chunk.address, size::print(chunk.bytes)));
        }
        let rest = blockers.count().saturating_sub(4);
        if rest > 0 {
            lines.push(format!("    and {rest} more"));
        }
    }
    if diagnosis.findings.iter().any(|finding| finding.decisive) {
        lines.push("(! without it the request would have been met)".to_string());
    }
    lines.join("\n")
}

/// The largest chunks in use by size, or who holds most where the report names them.
fn holders(dump: &Dump, columns: Option<usize>) -> String {
    if !dump.holders.is_empty() {
        let mut holders: Vec<_> = dump.holders.iter().collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes.bytes));
        let mut table = Table::new(["held by", "size"]).right(1);
        holders
            .iter()
            .take(ROWS)
            .for_each(|holder| table.row([holder.who.clone(), size::print(holder.bytes.bytes)]));
        return table.print_within(columns);
    }
    let mut sizes = sizes_in_use(dump);
    if sizes.is_empty() {
        return String::new();
    }
    sizes.sort_by_key(|&(bytes, count)| std::cmp::Reverse(bytes.saturating_mul(count)));
    let mut table = Table::new(["chunks in use", "each", "together"]).right(0).right(1).right(2);
    for (bytes, count) in sizes.iter().take(ROWS) {
        table.row([count.to_string(), size::print(*bytes), size::print(bytes.saturating_mul(*count))]);
    }
    table.print_within(columns)
}

/// Live chunks by size: from the list, or from the dump's own summary.
fn sizes_in_use(dump: &Dump) -> Vec<(u64, u64)> {
    if dump.chunks().next().is_none() || !dump.is_complete() && !dump.sizes.is_empty() {
        return dump.sizes.iter().map(|size| (size.bytes, size.count)).collect();
    }
    let mut counts = std::collections::BTreeMap::new();
    dump.chunks().filter(|chunk| chunk.in_use).for_each(|chunk| *counts.entry(chunk.bytes).or_insert(0) += 1);
    counts.into_iter().collect()
}

fn remedies(diagnosed: &Diagnosis) -> String {
    let sections = diagnosed.remedies.iter().map(|remedy| {
        let verdict = match remedy.enough {
            Some(true) if diagnosed.dump.refused_by == RefusedBy::Pool && remedy.key != PLANNED_STEP => {
                "enough for this request"
            }
            Some(true) => "enough",
            Some(false) => "not enough",
            None => "may help",
        };
        let code = remedy.code.to_string();
        let code: Vec<String> = code.lines().map(|line| format!("    {line}")).collect();
        format!("{} ({verdict}): {}\n{}", remedy.title, remedy.text, code.join("\n"))
    });
    let sections: Vec<String> = sections.collect();
    if sections.is_empty() { String::new() } else { format!("what would help\n{}", sections.join("\n")) }
}

fn missing(dump: &Dump) -> String {
    if dump.missing.is_empty() {
        return String::new();
    }
    format!("missing in this report\n- {}", dump.missing.join("\n- "))
}
