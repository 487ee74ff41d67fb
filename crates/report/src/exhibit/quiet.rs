//! Long stretches of time in which next to nothing changes, such as the minutes in which TensorFlow traces a function:
//! charts draw them narrow, so that the steps have room.

use super::{Clock, Exhibit, Figures};
use plimsoll_trace::Bytes;
use std::ops::Range;

/// What quiet stretches may take of a chart's width together, where they are longer.
pub const QUIET_SHARE: f64 = 0.1;

/// A stretch is quiet while live bytes stay within this part of the most there are ...
const TOLERANCE: u64 = 100;
/// ... and long if it has this part of all ticks.
const LONG: u32 = 50;

/// The quiet stretches of an exhibit in ticks, ascending; none where they are not worth a broken axis. Time that counts
/// ops is never cut: each op of a plan is as wide as the next.
pub fn quiet(exhibit: &Exhibit, figures: &Figures) -> Vec<Range<u32>> {
    if exhibit.clock != Clock::Events {
        return Vec::new();
    }
    let stretches = flat(&figures.live, Bytes(figures.floor.0 / TOLERANCE), exhibit.ticks / LONG);
    let quiet: u32 = stretches.iter().map(|stretch| stretch.end - stretch.start).sum();
    // All quiet is nothing to tell apart; little quiet is in nobody's way.
    if quiet >= exhibit.ticks || quiet < exhibit.ticks / 3 { Vec::new() } else { stretches }
}

/// The ticks of each of at most `width` columns of a chart whose quiet stretches are narrow.
pub(crate) fn spans(ticks: u32, quiet: &[Range<u32>], width: usize) -> Vec<Range<usize>> {
    let width = width.min(ticks as usize);
    let still: u32 = quiet.iter().map(|stretch| stretch.end - stretch.start).sum();
    let moving = f64::from(ticks - still.min(ticks));
    let narrow = (QUIET_SHARE / (1.0 - QUIET_SHARE) * moving / f64::from(still.max(1))).min(1.0);
    // Where each tick begins, as a part of the whole.
    let mut place = 0.0;
    let mut stretches = quiet.iter().peekable();
    let mut begins: Vec<f64> = Vec::with_capacity(ticks as usize);
    for tick in 0..ticks {
        while stretches.next_if(|stretch| stretch.end <= tick).is_some() {}
        begins.push(place);
        place += if stretches.peek().is_some_and(|stretch| stretch.contains(&tick)) { narrow } else { 1.0 };
    }
    let first = |column: usize| {
        let wanted = place * column as f64 / width as f64;
        begins.partition_point(|begin| *begin < wanted - 1e-9)
    };
    // Where a tick is wider than a column, each column in it shows it.
    (0..width)
        .map(|column| first(column).min(ticks as usize - 1))
        .zip(1..)
        .map(|(start, next)| start..first(next).max(start + 1))
        .collect()
}

/// Stretches of more than `long` ticks whose values differ by at most `tolerance`, from the left.
fn flat(values: &[Bytes], tolerance: Bytes, long: u32) -> Vec<Range<u32>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let (mut low, mut high) = (values[start], values[start]);
        let within = |value: &&Bytes| {
            (low, high) = (low.min(**value), high.max(**value));
            high - low <= tolerance
        };
        let length = values[start..].iter().take_while(within).count();
        if length as u32 > long.max(8) {
            stretches.push(start as u32..(start + length) as u32);
        }
        start += length;
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Live bytes as one block taken and freed for each tick beside a block that stays.
    fn exhibit(clock: Clock, live: &[u64]) -> Exhibit {
        let buffer = |(tick, bytes): (usize, &u64)| super::super::Buffer {
            live: tick as u32..tick as u32 + 1,
            offset: plimsoll_trace::Offset(0),
            bytes: Bytes(*bytes),
            value: Default::default(),
            role: Default::default(),
            layer: Default::default(),
            op: Default::default(),
            again: false,
            kept: super::super::Kept::Unknown,
        };
        let buffers = live.iter().enumerate().map(buffer).collect();
        Exhibit { clock, ticks: live.len() as u32, buffers, ..Exhibit::default() }
    }

    fn stretches(clock: Clock, live: &[u64]) -> Vec<Range<u32>> {
        let exhibit = exhibit(clock, live);
        quiet(&exhibit, &Figures::of(&exhibit))
    }

    /// Rises, stays for long with small noise, and swings at the end.
    fn long_wait() -> Vec<u64> {
        let rise = (0..20).map(|tick| 10 * tick);
        let wait = (0..900).map(|tick| 800 + tick % 5);
        let swing = (0..80).map(|tick| if tick % 2 == 0 { 1000 } else { 600 });
        rise.chain(wait).chain(swing).collect()
    }

    #[test]
    fn a_long_wait_is_found_from_end_to_end() {
        assert_eq!(stretches(Clock::Events, &long_wait()), std::slice::from_ref(&(20..920)));
    }

    #[test]
    fn columns_are_spent_on_what_moves() {
        let quiet = 20..920;
        let spans = spans(1000, std::slice::from_ref(&quiet), 50);
        assert_eq!((spans.len(), spans[0].start, spans[49].end), (50, 0, 1000));
        assert!(spans.windows(2).all(|pair| pair[0].end >= pair[1].start), "{spans:?}");
        let before = spans.iter().filter(|span| span.end <= 920).count();
        assert!((10..18).contains(&before), "a tenth for the wait, a fifth of the rest before it: {before}");
        assert_eq!(super::spans(10, &[], 4), [0..3, 3..5, 5..8, 8..10]);
        assert_eq!(super::spans(0, &[], 4), []);
    }

    #[test]
    fn plans_and_what_is_never_or_always_quiet_are_left_alone() {
        assert_eq!(stretches(Clock::Ops, &long_wait()), []);
        assert_eq!(stretches(Clock::Events, &[5; 400]), []);
        let swing: Vec<u64> = (0..400).map(|tick| tick % 2 * 100).collect();
        assert_eq!(stretches(Clock::Events, &swing), []);
        assert_eq!(stretches(Clock::Events, &[]), []);
    }
}
