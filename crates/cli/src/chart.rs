//! Pictures made of characters: bars, and a curve of memory over time.

use plimsoll::Bytes;

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
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let Some(&most) = live.iter().max().filter(|most| **most > Bytes::ZERO) else { return String::new() };
    let width = width.min(live.len());
    let columns: Vec<Bytes> = (0..width)
        .map(|column| {
            let steps = column * live.len() / width..(column + 1) * live.len() / width;
            live[steps].iter().copied().max().unwrap_or_default()
        })
        .collect();
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
