//! What an exhibit comes to: peak, floor, who is live then, how much memory a layout leaves unused.

use super::{Exhibit, TextId};
use plimsoll_trace::Bytes;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// An exhibit in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The highest end of a buffer.
    pub peak: Bytes,
    /// The most bytes live at once.
    pub floor: Bytes,
    /// The first tick with so many.
    pub floor_tick: u32,
    /// The most bytes live during each tick.
    pub live: Vec<Bytes>,
    /// The highest end of a buffer that is live during each tick.
    pub top: Vec<Bytes>,
    /// The most that was reserved, where it is known.
    pub reserved: Option<Bytes>,
    /// The buffers that are live at the floor's tick, the largest first.
    pub at_floor: Vec<usize>,
}

/// Bytes of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The role, layer or op.
    pub text: TextId,
    /// How many bytes.
    pub bytes: Bytes,
    /// In how many buffers.
    pub count: usize,
}

impl Figures {
    /// Adds up an exhibit.
    pub fn of(exhibit: &Exhibit) -> Self {
        let live = live(exhibit);
        let floor = live.iter().copied().max().unwrap_or_default();
        let floor_tick = live.iter().position(|&bytes| bytes == floor).unwrap_or(0) as u32;
        let peak = exhibit.buffers.iter().map(|buffer| (buffer.offset + buffer.bytes).distance()).max();
        let reserved = exhibit.reserved.iter().map(|(_, bytes)| *bytes).max();
        let mut at_floor: Vec<usize> = (0..exhibit.buffers.len())
            .filter(|&index| exhibit.buffers[index].live.contains(&floor_tick))
            .collect();
        at_floor.sort_by_key(|&index| Reverse(exhibit.buffers[index].bytes));
        Self {
            peak: peak.unwrap_or_default(),
            floor,
            floor_tick,
            top: top(exhibit),
            live,
            reserved,
            at_floor,
        }
    }

    /// What was taken at most: what is reserved is taken, whoever uses it. Where an allocator's own count is all there
    /// is, the span of the addresses that were seen says nothing: others lie between them.
    pub fn taken(&self, exhibit: &Exhibit) -> Bytes {
        exhibit.reported.unwrap_or(self.peak).max(self.reserved.unwrap_or_default())
    }

    /// What the layout takes beyond the floor.
    pub fn fragmentation(&self) -> Bytes {
        self.peak.saturating_sub(self.floor)
    }

    /// What is live at the floor, by role, layer or whatever `key` gives; the largest first.
    pub fn at_floor_by(&self, exhibit: &Exhibit, key: impl Fn(&super::Buffer) -> TextId) -> Vec<Sum> {
        let mut sums: BTreeMap<TextId, (Bytes, usize)> = BTreeMap::new();
        for &index in &self.at_floor {
            let buffer = &exhibit.buffers[index];
            let (bytes, count) = sums.entry(key(buffer)).or_default();
            *bytes += buffer.bytes;
            *count += 1;
        }
        let mut sums: Vec<Sum> =
            sums.into_iter().map(|(text, (bytes, count))| Sum { text, bytes, count }).collect();
        sums.sort_by_key(|sum| Reverse(sum.bytes));
        sums
    }
}

fn live(exhibit: &Exhibit) -> Vec<Bytes> {
    let ticks = exhibit.ticks as usize;
    let (mut begins, mut ends) = (vec![0u64; ticks + 1], vec![0u64; ticks + 1]);
    for buffer in &exhibit.buffers {
        // Overlapping buffers of a foreign trace may come to more than there is.
        let (start, end) = (buffer.live.start as usize, buffer.live.end as usize);
        begins[start.min(ticks)] = begins[start.min(ticks)].saturating_add(buffer.bytes.0);
        ends[end.min(ticks)] = ends[end.min(ticks)].saturating_add(buffer.bytes.0);
    }
    let mut now = 0u64;
    let tick = |tick: usize| {
        now = now.saturating_add(begins[tick]).saturating_sub(ends[tick]);
        Bytes(now)
    };
    (0..ticks).map(tick).collect()
}

/// Buffers are taken from the top down, and each fills the ticks that none above it has filled.
fn top(exhibit: &Exhibit) -> Vec<Bytes> {
    let ticks = exhibit.ticks as usize;
    let mut top = vec![Bytes::ZERO; ticks];
    let mut order: Vec<&super::Buffer> = exhibit.buffers.iter().collect();
    order.sort_by_key(|buffer| Reverse(buffer.offset.0 + buffer.bytes.0));
    // From each tick the next that is not filled; paths are halved on the way.
    let mut next: Vec<u32> = (0..=exhibit.ticks).collect();
    for buffer in order {
        let mut tick = unfilled(&mut next, buffer.live.start.min(exhibit.ticks));
        while tick < buffer.live.end.min(exhibit.ticks) {
            top[tick as usize] = (buffer.offset + buffer.bytes).distance();
            next[tick as usize] = tick + 1;
            tick = unfilled(&mut next, tick + 1);
        }
    }
    top
}

fn unfilled(next: &mut [u32], mut tick: u32) -> u32 {
    while next[tick as usize] != tick {
        next[tick as usize] = next[next[tick as usize] as usize];
        tick = next[tick as usize];
    }
    tick
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    #[test]
    fn figures_are_those_of_a_slow_count() {
        let mut state = 11u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        for _ in 0..100 {
            let mut events = Vec::new();
            for block in 0..12 {
                let (from, until) = (below(9), 9 + below(9));
                let (offset, bytes) = (64 * below(9), below(640));
                events.push((from, 0, format!("{from} take {block} at {offset} bytes {bytes} label 0")));
                events.push((until, 1, format!("{until} free {block}")));
            }
            events.sort();
            let lines: Vec<String> = events.into_iter().map(|(_, _, line)| line).collect();
            let text = format!("trace 1\nlabel \"a\" \"\" \"\" \"\"\n{}\n", lines.join("\n"));
            let exhibit = Exhibit::of_trace(&text::parse(&text).unwrap()).unwrap();
            let figures = Figures::of(&exhibit);
            for tick in 0..exhibit.ticks {
                let there = || exhibit.buffers.iter().filter(|buffer| buffer.live.contains(&tick));
                assert_eq!(figures.live[tick as usize], there().map(|buffer| buffer.bytes).sum());
                let ends = there().map(|buffer| (buffer.offset + buffer.bytes).distance());
                assert_eq!(figures.top[tick as usize], ends.max().unwrap_or_default());
            }
            assert_eq!(figures.live[figures.floor_tick as usize], figures.floor);
            assert_eq!(figures.top.iter().max(), Some(&figures.peak));
        }
    }
}
