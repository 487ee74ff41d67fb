//! Pictures made of characters: bars, and a curve of memory over time.

use plimsoll_trace::Bytes;

/// A bar of at most `width` characters for a share of a whole, in eighths of a character.
pub fn bar(part: Bytes, whole: Bytes, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if whole == Bytes::ZERO {
        return String::new();
    }
    let eighths = (part.0 as f64 / whole.0 as f64 * (8 * width) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Live bytes over the steps of a plan, filled from below; every column shows the most of its steps.
pub fn curve(live: &[Bytes], width: usize, height: usize) -> String {
    let most = live.iter().copied().max().unwrap_or_default();
    scaled_curve(live, most, width, height)
}

/// The same on a scale that other curves have, too.
pub fn scaled_curve(live: &[Bytes], most: Bytes, width: usize, height: usize) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if live.is_empty() || most == Bytes::ZERO {
        return String::new();
    }
    let columns: Vec<Bytes> = columns(live, width).into_iter().map(|step| live[step]).collect();
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

/// For each of at most `width` columns, the step with the most live bytes of its steps.
pub fn columns(live: &[Bytes], width: usize) -> Vec<usize> {
    let width = width.min(live.len());
    let column = |column: usize| {
        let steps = column * live.len() / width..(column + 1) * live.len() / width;
        // The first of several.
        steps.rev().max_by_key(|&step| live[step]).unwrap_or(0)
    };
    (0..width).map(column).collect()
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
