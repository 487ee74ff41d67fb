//! Pictures made of characters: bars, and a curve of memory over time.

use plimsoll_trace::Bytes;
use std::ops::Range;

/// Parts of a character, from nothing on.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar of at most `width` characters for a share of a whole, in eighths of a character.
pub fn bar(part: Bytes, whole: Bytes, width: usize) -> String {
    if whole == Bytes::ZERO {
        return String::new();
    }
    let eighths = (part.0 as f64 / whole.0 as f64 * (8 * width) as f64).round() as usize;
    of_eighths(eighths)
}

/// A text as the bar it begins with, and what follows.
pub(crate) fn split_bar(text: &str) -> (&str, &str) {
    text.split_at(text.find(|character| !is_part(character)).unwrap_or(text.len()))
}

/// Whether a character is a part of a bar.
fn is_part(character: char) -> bool {
    ('█'..='▏').contains(&character)
}

/// A bar as it would be if `to` characters were what `from` characters were.
pub(crate) fn shortened(bar: &str, from: usize, to: usize) -> String {
    let eighths = |part: char| 8 - (part as usize - '█' as usize);
    let length: usize = bar.chars().filter(|part| is_part(*part)).map(eighths).sum();
    // What is there stays visible.
    of_eighths((length * to).div_ceil(from.max(1)))
}

fn of_eighths(eighths: usize) -> String {
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Live bytes over the steps of a plan, filled from below; every column shows the most of its steps.
pub fn curve(live: &[Bytes], width: usize, height: usize) -> String {
    let most = live.iter().copied().max().unwrap_or_default();
    scaled_curve(live, most, width, height)
}

/// The same on a scale that other curves have, too.
pub fn scaled_curve(live: &[Bytes], most: Bytes, width: usize, height: usize) -> String {
    if live.is_empty() || most == Bytes::ZERO {
        return String::new();
    }
    let columns: Vec<Bytes> =
        columns(live, &even(live.len(), width)).into_iter().map(|step| live[step]).collect();
    filled(&columns, most, height)
}

/// Columns of bytes, filled from below, with the scale on the left.
pub(crate) fn filled(columns: &[Bytes], most: Bytes, height: usize) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mut lines = Vec::new();
    for row in (0..height).rev() {
        let cells = columns.iter().map(|bytes| {
            let filled = bytes.0 as f64 / most.0 as f64 * (8 * height) as f64 - (8 * row) as f64;
            LEVELS[filled.round().clamp(0.0, 8.0) as usize]
        });
        let label = if row + 1 == height { most.to_string() } else { String::new() };
        lines.push(format!("{label:>10} ▏{}", cells.collect::<String>().trim_end()));
    }
    lines.join("\n")
}

/// For each column, the step with the most live bytes of its steps.
pub(crate) fn columns(live: &[Bytes], spans: &[Range<usize>]) -> Vec<usize> {
    // The first of several.
    let most = |span: &Range<usize>| span.clone().rev().max_by_key(|&step| live[step]).unwrap_or(span.start);
    spans.iter().map(most).collect()
}

/// The steps of each of at most `width` columns that are equally wide.
fn even(steps: usize, width: usize) -> Vec<Range<usize>> {
    let width = width.min(steps);
    (0..width).map(|column| column * steps / width..(column + 1) * steps / width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(Bytes(50), Bytes(100), 4), "██");
        assert_eq!(bar(Bytes(1), Bytes(64), 8), "▏");
        assert_eq!(bar(Bytes(1), Bytes(0), 8), "");
    }

    #[test]
    fn curves_keep_their_peak() {
        let live: Vec<Bytes> = [1, 2, 9, 2, 1, 1, 1, 1].map(Bytes).to_vec();
        let drawn = curve(&live, 4, 2);
        assert_eq!(drawn, "       9 B ▏ █\n           ▏▄█▂▂");
        assert_eq!(curve(&[], 4, 2), "");
    }
}
