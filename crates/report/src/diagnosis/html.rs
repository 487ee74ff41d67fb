//! Diagnoses as one HTML file that needs nothing else: the answer, the map of the pool, the evidence.

use super::Diagnosis;
use super::step::PLANNED_STEP;
use crate::size;
use crate::style::{document, escape};
use plimsoll_import::oomlog::{Chunk, Dump, RefusedBy, Region};
use std::collections::HashSet;
use std::fmt::Write;

/// How many regions and how many rectangles a map has; what is smaller is drawn together.
const REGIONS: usize = 64;
const RECTANGLES: usize = 4000;

const STYLE: &str = include_str!("page.css");

/// What the colours of a map mean.
const LEGEND: &str = "<h3>The pool</h3>\n<ul class=\"legend\"><li><i class=\"used\"></i>in use</li><li><i class=\"free\"></i>free</li>\
     <li><i class=\"mixed\"></i>many small chunks</li><li><i class=\"blocker\"></i>in the way</li>\
     <li><i class=\"request\"></i>asked for</li></ul>\n";

/// The page for all reports of a log.
pub fn print(title: &str, diagnoses: &[Diagnosis]) -> String {
    let mut page = "<main>\n".to_string();
    for (number, diagnosis) in diagnoses.iter().enumerate() {
        section(&mut page, number + 1, diagnosis);
    }
    document(title, STYLE, &(page + "</main>\n"))
}

fn section(page: &mut String, number: usize, diagnosis: &Diagnosis) {
    let dump = &diagnosis.dump;
    let cause = escape(&diagnosis.cause());
    put(
        page,
        format!("<section>\n<h2>{number}. {cause}</h2>\n<p class=\"where soft\">line {}</p>\n", dump.line),
    );
    for line in &diagnosis.summary {
        put(page, format!("<p class=\"answer\">{}</p>\n", escape(line)));
    }
    figures(page, dump);
    map(page, diagnosis);
    put(page, "<h3>Findings</h3>\n<ul>\n".to_string());
    for finding in &diagnosis.findings {
        let mark = if finding.decisive { " <em class=\"decisive\">decisive</em>" } else { "" };
        put(
            page,
            format!(
                "<li><strong>{}</strong>{mark}: {}</li>\n",
                finding.reason.title(),
                escape(&finding.text)
            ),
        );
    }
    put(page, "</ul>\n<h3>What would help</h3>\n".to_string());
    for remedy in &diagnosis.remedies {
        let verdict = match remedy.enough {
            Some(true) if dump.refused_by == RefusedBy::Pool && remedy.key != PLANNED_STEP => {
                "<em class=\"enough\">enough for this request</em>"
            }
            Some(true) => "<em class=\"enough\">enough</em>",
            Some(false) => "<em>not enough</em>",
            None => "<em>may help</em>",
        };
        let (title, text, code) =
            (escape(&remedy.title), escape(&remedy.text), escape(&remedy.code.to_string()));
        put(
            page,
            format!(
                "<details open><summary>{title} {verdict}</summary>\n<p>{text}</p>\n<pre>{code}</pre></details>\n"
            ),
        );
    }
    if !dump.missing.is_empty() {
        let items: String = dump.missing.iter().map(|what| format!("<li>{}</li>\n", escape(what))).collect();
        put(page, format!("<h3>Missing in this report</h3>\n<ul>\n{items}</ul>\n"));
    }
    put(page, "</section>\n".to_string());
}

fn figures(page: &mut String, dump: &Dump) {
    let figures = [
        ("asked for", dump.request),
        ("limit", dump.limit),
        ("pool", dump.pool),
        ("in use", dump.in_use),
        ("free in the pool", dump.free),
        ("largest free block", dump.largest_free),
        ("held by others", dump.others),
    ];
    put(page, "<dl class=\"figures\">\n".to_string());
    for (name, figure) in figures {
        if let Some(figure) = figure {
            let sign = if figure.at_least { "≥ " } else { "" };
            put(
                page,
                format!(
                    "<div><dt>{name}</dt><dd>{sign}{}<small>{} bytes</small></dd></div>\n",
                    size::print(figure.bytes),
                    figure.bytes
                ),
            );
        }
    }
    put(page, "</dl>\n".to_string());
}

/// Regions as rows, chunks as rectangles; a row is as long as its region.
fn map(page: &mut String, diagnosis: &Diagnosis) {
    let dump = &diagnosis.dump;
    let windows = diagnosis.findings.iter().filter_map(|finding| finding.window.as_ref());
    let blockers: HashSet<u64> =
        windows.flat_map(|window| &window.blockers).map(|chunk| chunk.address).collect();
    let largest = dump.regions.iter().map(|region| region.bytes).max().unwrap_or(0);
    if largest == 0 {
        return;
    }
    put(page, LEGEND.to_string());
    if let Some(request) = dump.request.filter(|request| request.bytes <= largest) {
        request_row(page, request.bytes, largest);
    }
    for (number, region) in dump.regions.iter().enumerate().take(REGIONS) {
        row(page, number, region, &Drawing { dump, largest, blockers: &blockers });
    }
    let rest = dump.regions.len().saturating_sub(REGIONS);
    if rest > 0 {
        put(page, format!("<p>and {rest} more regions</p>\n"));
    }
}

/// What was asked for, as long as it would be among the regions.
fn request_row(page: &mut String, bytes: u64, largest: u64) {
    let width = (1000.0 * bytes as f64 / largest as f64).max(2.0) - 1.0;
    let label = format!("asked for, {}", size::print(bytes));
    put(
        page,
        format!(
            "<figure><figcaption>{label}</figcaption>\n<svg viewBox=\"0 0 1000 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">\n\
             <rect class=\"request\" x=\"0.5\" y=\"1\" width=\"{width:.2}\" height=\"22\"/></svg></figure>\n"
        ),
    );
}

/// What all rows share.
struct Drawing<'a> {
    dump: &'a Dump,
    largest: u64,
    blockers: &'a HashSet<u64>,
}

fn row(page: &mut String, number: usize, region: &Region, drawing: &Drawing) {
    let Drawing { dump, largest, blockers } = *drawing;
    let width = 1000.0 * region.bytes as f64 / largest as f64;
    let label =
        format!("region {number}, {}, {} free", size::print(region.bytes), size::print(region.free().0));
    put(
        page,
        format!(
            "<figure><figcaption>{label}</figcaption>\n<svg viewBox=\"0 0 1000 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">\n<rect class=\"unlisted\" width=\"{width:.2}\" height=\"24\"/>\n"
        ),
    );
    let scale = 1000.0 / largest as f64;
    for piece in pieces(region, 1.0 / scale) {
        let x = scale * piece.start as f64;
        let width = (scale * piece.bytes as f64).max(0.4);
        let title = escape(&piece.title(region, dump));
        let class = piece.class(blockers);
        put(
            page,
            format!(
                "<rect class=\"{class}\" x=\"{x:.2}\" width=\"{width:.2}\" height=\"24\"><title>{title}</title></rect>\n"
            ),
        );
    }
    put(page, "</svg></figure>\n".to_string());
}

/// Chunks that are drawn as one.
struct Piece {
    start: u64,
    bytes: u64,
    used: u64,
    count: usize,
    first: Chunk,
}

impl Piece {
    fn class(&self, blockers: &HashSet<u64>) -> &'static str {
        match self.used {
            _ if self.count == 1 && blockers.contains(&self.first.address) => "blocker",
            0 => "free",
            used if used == self.bytes => "used",
            _ => "mixed",
        }
    }

    fn title(&self, region: &Region, dump: &Dump) -> String {
        if self.count > 1 {
            return format!(
                "{} chunks, {} in use of {}",
                self.count,
                size::print(self.used),
                size::print(self.bytes)
            );
        }
        let state = if self.first.in_use { "in use" } else { "free" };
        let who = dump.holder(&self.first).map_or(String::new(), |who| format!(", {who}"));
        format!(
            "{} {state} at +{} (0x{:x}){who}",
            size::print(self.bytes),
            size::print(self.start),
            region.base.saturating_add(self.start)
        )
    }
}

/// The chunks of a region; neighbours that would be narrower than a dot are put together.
fn pieces(region: &Region, dot: f64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for chunk in &region.chunks {
        let start = chunk.address.saturating_sub(region.base);
        let used = if chunk.in_use { chunk.bytes } else { 0 };
        let small = |bytes: u64| (bytes as f64) < dot;
        let full = pieces.len() >= RECTANGLES;
        match pieces.last_mut().filter(|last| full || small(chunk.bytes) && small(last.bytes)) {
            Some(last) => {
                last.bytes = start.saturating_add(chunk.bytes).saturating_sub(last.start);
                last.used = last.used.saturating_add(used);
                last.count += 1;
            }
            None => pieces.push(Piece { start, bytes: chunk.bytes, used, count: 1, first: *chunk }),
        }
    }
    pieces
}

fn put(page: &mut String, text: String) {
    // Writing to a string does not fail.
    let _ = page.write_str(&text);
}
