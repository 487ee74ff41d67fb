//! The curve and the layout of an exhibit in characters, with the colours of the roles where a terminal has colours.

use super::Drawing;
use crate::chart;
use crate::exhibit::{Buffer, ROLES, look};
use plimsoll_trace::Bytes;
use std::ops::Range;

/// Text in one of a terminal's 256 colours.
pub(super) fn paint(text: &str, code: u8) -> String {
    format!("\u{1b}[38;5;{code}m{text}\u{1b}[0m")
}

/// Live bytes over time. With colours, the roles are stacked.
pub(super) fn curve(drawing: &Drawing, spans: &[Range<usize>], height: usize) -> String {
    let live = &drawing.figures.live;
    if live.is_empty() || drawing.scale == Bytes::ZERO {
        return String::new();
    }
    let ticks = chart::columns(live, spans);
    if !drawing.colour {
        let columns: Vec<Bytes> = ticks.into_iter().map(|tick| live[tick]).collect();
        return chart::filled(&columns, drawing.scale, height);
    }
    let columns: Vec<Vec<(u64, u8)>> = ticks.into_iter().map(|tick| stack(drawing, tick as u32)).collect();
    let mut lines = Vec::new();
    for row in (0..height).rev() {
        let cells = columns.iter().map(|stack| cell(stack, drawing.scale, row, height));
        let label = if row + 1 == height { drawing.scale.to_string() } else { String::new() };
        lines.push(format!("{label:>10} ▏{}", painted(cells)));
    }
    lines.join("\n")
}

/// The bytes up to the end of each role during a tick, from below, with its colour.
fn stack(drawing: &Drawing, tick: u32) -> Vec<(u64, u8)> {
    let mut sums = [0u64; ROLES.len() + 1];
    for buffer in drawing.exhibit.buffers.iter().filter(|buffer| buffer.live.contains(&tick)) {
        let role = drawing.exhibit.texts.get(buffer.role);
        let place = ROLES.iter().position(|look| look.role == role).unwrap_or(ROLES.len());
        sums[place] = sums[place].saturating_add(buffer.bytes.0);
    }
    let mut end = 0u64;
    let colours = ROLES.iter().map(|look| look.terminal).chain([look("").terminal]);
    let ends = sums.into_iter().zip(colours).map(|(bytes, code)| {
        end = end.saturating_add(bytes);
        (end, code)
    });
    ends.collect()
}

/// A character of the curve: how full it is, in the colour of the role in its middle.
fn cell(stack: &[(u64, u8)], scale: Bytes, row: usize, height: usize) -> (char, u8) {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let total = stack.last().map_or(0, |(end, _)| *end);
    let filled = total as f64 / scale.0 as f64 * (8 * height) as f64 - (8 * row) as f64;
    let level = LEVELS[filled.round().clamp(0.0, 8.0) as usize];
    let middle = (row as f64 + 0.5 * filled.clamp(0.0, 8.0) / 8.0) / height as f64 * scale.0 as f64;
    let code =
        stack.iter().find(|(end, _)| *end as f64 > middle).or(stack.last()).map_or(0, |(_, code)| *code);
    (level, code)
}

/// Characters with their colours; neighbours of one colour share it.
fn painted(cells: impl Iterator<Item = (char, u8)>) -> String {
    let mut runs: Vec<(String, u8)> = Vec::new();
    for (character, code) in cells {
        let code = if character == ' ' { 0 } else { code };
        match runs.last_mut().filter(|(_, last)| *last == code) {
            Some((text, _)) => text.push(character),
            None => runs.push((character.to_string(), code)),
        }
    }
    if runs.last().is_some_and(|(_, code)| *code == 0) {
        runs.pop();
    }
    runs.iter().map(|(text, code)| if *code == 0 { text.clone() } else { paint(text, *code) }).collect()
}

/// Space against time: time to the right, offsets upwards. A cell has the letter of the role in its middle; `.` is
/// free.
pub(super) fn layout(drawing: &Drawing, spans: &[Range<usize>], height: usize) -> String {
    let (scale, height) = (drawing.span.0, height as u64);
    let middle: Vec<u32> = spans.iter().map(|span| ((span.start + span.end - 1) / 2) as u32).collect();
    if middle.is_empty() || scale == 0 {
        return String::new();
    }
    let mut cells = vec![vec![('.', 0u8); middle.len()]; height as usize];
    for Buffer { live, offset, bytes, role, .. } in &drawing.exhibit.buffers {
        let known = look(drawing.exhibit.texts.get(*role));
        let rows = middles(offset.0, offset.0.saturating_add(bytes.0), scale, height);
        for row in rows {
            let [from, to] = [live.start, live.end].map(|tick| middle.partition_point(|at| *at < tick));
            cells[row as usize][from..to].fill((known.letter, known.terminal));
        }
    }
    let line = |(row, cells): (usize, Vec<(char, u8)>)| {
        let label = if row + 1 == height as usize { drawing.span.to_string() } else { String::new() };
        let text =
            if drawing.colour { painted(cells.into_iter()) } else { cells.iter().map(|(c, _)| *c).collect() };
        format!("{label:>10} ▏{text}")
    };
    cells.into_iter().enumerate().rev().map(line).collect::<Vec<_>>().join("\n")
}

/// The cells of `count` over `all` whose middles lie in a range.
fn middles(start: u64, end: u64, all: u64, count: u64) -> Range<u64> {
    // The middle of cell c is (2 c + 1) all / (2 count); the first at or after a place is found by rounding up.
    let first = |place: u64| {
        let (place, all, count) = (u128::from(place), u128::from(all), u128::from(count));
        let twice = (2 * place * count).div_ceil(all.max(1));
        (twice / 2).min(count) as u64
    };
    first(start)..first(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_whose_middle_lies_inside() {
        for (all, count) in [(10u64, 4u64), (7, 7), (100, 3), (5, 5)] {
            for start in 0..=all {
                for end in start..=all {
                    let slow: Vec<u64> = (0..count)
                        .filter(|cell| {
                            let twice = (2 * cell + 1) * all;
                            twice >= 2 * count * start && twice < 2 * count * end
                        })
                        .collect();
                    assert_eq!(
                        middles(start, end, all, count).collect::<Vec<_>>(),
                        slow,
                        "{start}..{end} of {all} in {count}"
                    );
                }
            }
        }
    }
}
