//! The pieces of a pool: what stands in the way of one block, and what regions cost.

use plimsoll_import::oomlog::{Chunk, Dump, Region};

/// The place where a block could be had by moving the fewest bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The number of the region.
    pub region: usize,
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// The chunks in use inside it, which stand in the way.
    pub blockers: Vec<Chunk>,
}

impl Window {
    /// What stands in the way.
    pub fn in_use(&self) -> u64 {
        self.blockers.iter().map(|chunk| chunk.bytes).sum()
    }
}

/// The window with the fewest bytes in use that has room for a request; none where no region is so large.
pub(crate) fn cheapest_window(dump: &Dump, request: u64) -> Option<Window> {
    let windows = dump.regions.iter().enumerate().filter_map(|(number, region)| {
        let (first, last, _) = cheapest_run(&region.chunks, request)?;
        let run = &region.chunks[first..=last];
        let blockers = run.iter().filter(|chunk| chunk.in_use).copied().collect();
        let bytes = run.iter().map(|chunk| chunk.bytes).sum();
        Some(Window { region: number, address: run[0].address, bytes, blockers })
    });
    windows.min_by_key(|window| (window.in_use(), window.bytes))
}

/// The run of touching chunks with room for a request and the fewest bytes in use: its first and last chunk, and those
/// bytes.
///
/// For every first chunk the shortest run is the best, and its end only moves forward, so one pass is enough.
fn cheapest_run(chunks: &[Chunk], request: u64) -> Option<(usize, usize, u64)> {
    let used = |chunk: &Chunk| if chunk.in_use { chunk.bytes } else { 0 };
    let mut best: Option<(usize, usize, u64)> = None;
    let (mut first, mut bytes, mut in_use) = (0, 0u64, 0u64);
    for (last, chunk) in chunks.iter().enumerate() {
        let touches =
            last == 0 || chunks[last - 1].address.saturating_add(chunks[last - 1].bytes) == chunk.address;
        if !touches {
            (first, bytes, in_use) = (last, 0, 0);
        }
        bytes = bytes.saturating_add(chunk.bytes);
        in_use = in_use.saturating_add(used(chunk));
        while first < last && bytes - chunks[first].bytes >= request {
            bytes -= chunks[first].bytes;
            in_use -= used(&chunks[first]);
            first += 1;
        }
        if bytes >= request && best.is_none_or(|(.., least)| in_use < least) {
            best = Some((first, last, in_use));
        }
    }
    best
}

/// The largest free block if the regions lay one behind the other, in the order in which they grew, with what is not
/// reserved behind the last.
pub(crate) fn largest_joined(dump: &Dump, unreserved: u64) -> u64 {
    let mut regions: Vec<&Region> = dump.regions.iter().collect();
    regions.sort_by_key(|region| region.bytes);
    let (mut largest, mut run) = (0u64, 0u64);
    for chunk in regions.iter().flat_map(|region| &region.chunks) {
        run = if chunk.in_use { 0 } else { run.saturating_add(chunk.bytes) };
        largest = largest.max(run);
    }
    largest.max(run.saturating_add(unreserved))
}

/// Free bytes at the ends of regions, and how many regions have some.
pub(crate) fn tails(dump: &Dump) -> (u64, usize) {
    let ends = dump.regions.iter().filter_map(|region| region.chunks.last().filter(|chunk| !chunk.in_use));
    ends.fold((0, 0), |(bytes, count), chunk| (bytes + chunk.bytes, count + 1))
}

/// Free bytes in whole pages of 2 MiB, which CUDA's own pool can map together.
pub(crate) fn free_pages(dump: &Dump) -> u64 {
    const PAGE: u64 = 2 << 20;
    let pages = |chunk: &Chunk| {
        let start = chunk.address.next_multiple_of(PAGE);
        chunk.address.saturating_add(chunk.bytes).saturating_sub(start) / PAGE * PAGE
    };
    dump.chunks().filter(|chunk| !chunk.in_use && chunk.address <= u64::MAX - PAGE).map(pages).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(base: u64, chunks: &[(u64, bool)]) -> Region {
        let mut address = base;
        let chunks = chunks.iter().map(|&(bytes, in_use)| {
            address += bytes;
            Chunk { address: address - bytes, bytes, requested: None, in_use, holder: 0 }
        });
        let chunks: Vec<Chunk> = chunks.collect();
        Region { base, bytes: address - base, chunks }
    }

    #[test]
    fn the_cheapest_window_moves_the_fewest_bytes() {
        let regions = vec![
            region(0, &[(4, false), (4, true), (4, false), (1, true), (7, false)]),
            region(1000, &[(20, true)]),
        ];
        let dump = Dump { regions, ..Dump::default() };
        let window = cheapest_window(&dump, 12).unwrap();
        assert_eq!((window.region, window.address, window.bytes, window.in_use()), (0, 8, 12, 1));
        assert_eq!(cheapest_window(&dump, 7).unwrap().in_use(), 0);
        assert_eq!(cheapest_window(&dump, 20).unwrap().in_use(), 5);
        assert_eq!(cheapest_window(&dump, 21), None);
    }

    /// Every run is tried.
    fn slow(chunks: &[Chunk], request: u64) -> Option<u64> {
        let runs =
            (0..chunks.len()).flat_map(|first| (first..chunks.len()).map(move |last| &chunks[first..=last]));
        let enough = runs.filter(|run| run.iter().map(|chunk| chunk.bytes).sum::<u64>() >= request);
        enough.map(|run| run.iter().filter(|chunk| chunk.in_use).map(|chunk| chunk.bytes).sum()).min()
    }

    #[test]
    fn one_pass_finds_what_trying_all_finds() {
        let mut state = 7u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        for _ in 0..500 {
            let chunks: Vec<(u64, bool)> = (0..1 + below(9)).map(|_| (1 + below(6), below(2) == 0)).collect();
            let region = region(0, &chunks);
            let request = 1 + below(20);
            let found = cheapest_run(&region.chunks, request).map(|(.., in_use)| in_use);
            assert_eq!(found, slow(&region.chunks, request), "{chunks:?} {request}");
        }
    }

    #[test]
    fn joined_regions_lose_their_borders() {
        let regions = vec![
            region(0, &[(2, false), (3, true), (4, false)]),
            region(99, &[(5, false), (1, true), (6, false)]),
        ];
        let dump = Dump { regions, ..Dump::default() };
        assert_eq!(largest_joined(&dump, 0), 9);
        assert_eq!(largest_joined(&dump, 4), 10);
        assert_eq!(tails(&dump), (10, 2));
    }
}
