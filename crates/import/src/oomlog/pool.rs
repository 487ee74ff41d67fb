//! The state of a pool, rebuilt from what lines say: chunks become regions, and every figure comes from the best source
//! there is.

use super::dump::{Bin, Chunk, Dump, Region};
use super::figure::Figure;
use plimsoll_trace::Bytes;

/// Chunks and regions in the order of their lines.
#[derive(Default)]
pub(crate) struct Listing {
    /// A region's size, where it was announced, and its first chunk.
    regions: Vec<(u64, usize)>,
    chunks: Vec<Chunk>,
    /// Chunks beyond what is kept: how many, and their bytes in use, free, and the largest free.
    uncounted: u64,
    beyond: (u64, u64, u64),
}

impl Listing {
    pub(crate) fn region(&mut self, bytes: u64) {
        self.regions.push((bytes, self.chunks.len()));
    }

    pub(crate) fn chunk(&mut self, chunk: Chunk, most: usize) {
        if self.chunks.len() < most && self.regions.len() < most {
            self.chunks.push(chunk);
            return;
        }
        self.uncounted += 1;
        let (used, free, largest) = &mut self.beyond;
        match chunk.in_use {
            true => *used = used.saturating_add(chunk.bytes),
            false => {
                *free = free.saturating_add(chunk.bytes);
                *largest = (*largest).max(chunk.bytes);
            }
        }
    }
}

/// What a dump's summary says in figures.
pub(crate) struct Said {
    pub(crate) limit: Option<Figure>,
    pub(crate) total: Option<Figure>,
    pub(crate) available: Option<Figure>,
    pub(crate) in_use: Option<Figure>,
    pub(crate) free_hint: Option<Figure>,
}

/// What the chunk list comes to.
struct Listed {
    used: u64,
    free: u64,
    largest: u64,
    /// What all regions have, and whether each was announced.
    regions: u64,
    announced: bool,
}

/// Fills in a dump's regions and figures, and says what is missing.
pub(crate) fn rebuild(dump: &mut Dump, listing: Listing, said: Said) {
    let uncounted = listing.uncounted;
    let beyond = listing.beyond;
    let announced = !listing.regions.is_empty();
    dump.regions = if announced { announced_regions(listing) } else { contiguous_regions(listing.chunks) };
    let listed = Listed::of(&dump.regions, announced, beyond);
    if uncounted > 0 {
        dump.missing
            .push(format!("{uncounted} more chunks are counted in the figures, but not kept one by one"));
    }
    dump.pool = pool(dump, &listed, &said);
    dump.in_use = in_use(dump, &listed, &said);
    if let (Some(pool), Some(in_use)) = (&mut dump.pool, dump.in_use)
        && pool.at_least
    {
        pool.bytes = pool.bytes.max(in_use.bytes);
    }
    dump.limit = limit(dump, &said);
    dump.free = free(dump, &listed);
    dump.largest_free = largest_free(dump, &listed, &said);
    dump.requested_in_use = requested(&dump.bins);
    name_missing(dump, &listed);
}

impl Listed {
    fn of(regions: &[Region], announced: bool, beyond: (u64, u64, u64)) -> Self {
        let (mut used, mut free, mut largest) = beyond;
        for chunk in regions.iter().flat_map(|region| &region.chunks) {
            match chunk.in_use {
                true => used = used.saturating_add(chunk.bytes),
                false => {
                    free = free.saturating_add(chunk.bytes);
                    largest = largest.max(chunk.bytes);
                }
            }
        }
        let sizes = regions.iter().map(|region| region.bytes);
        Self { used, free, largest, regions: sizes.fold(0, u64::saturating_add), announced }
    }

    fn chunks(&self) -> u64 {
        self.used.saturating_add(self.free)
    }

    /// Whether every byte of the regions is in a chunk.
    fn is_whole(&self) -> bool {
        self.regions > 0 && self.chunks() == self.regions
    }
}

/// Regions as they were announced; a chunk that cannot lie in the one before it begins a region whose line is missing.
fn announced_regions(listing: Listing) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let mut starts = listing.regions.iter().peekable();
    for (index, chunk) in listing.chunks.into_iter().enumerate() {
        while let Some((bytes, _)) = starts.next_if(|(_, first)| *first <= index) {
            regions.push(Region { base: 0, bytes: *bytes, chunks: Vec::new() });
        }
        let fits = regions.last().is_some_and(|region| holds(region, &chunk));
        if !fits {
            regions.push(Region { base: chunk.address, bytes: 0, chunks: Vec::new() });
        }
        let Some(region) = regions.last_mut() else { continue };
        if region.chunks.is_empty() {
            region.base = chunk.address;
        }
        region.chunks.push(chunk);
    }
    regions.extend(starts.map(|(bytes, _)| Region { base: 0, bytes: *bytes, chunks: Vec::new() }));
    regions.iter_mut().for_each(close);
    regions
}

/// Whether a chunk may lie in a region after those it has.
fn holds(region: &Region, chunk: &Chunk) -> bool {
    let Some(last) = region.chunks.last() else { return chunk.bytes <= region.bytes };
    let after = last.address.saturating_add(last.bytes);
    let end = chunk.address.saturating_add(chunk.bytes);
    // A region without its line has the size that its chunks come to.
    let limit = if region.bytes == 0 {
        after.saturating_add(chunk.bytes)
    } else {
        region.base.saturating_add(region.bytes)
    };
    chunk.address >= after && end <= limit
}

/// A region without its line ends where its last chunk does.
fn close(region: &mut Region) {
    let end = region.chunks.last().map_or(region.base, |last| last.address.saturating_add(last.bytes));
    region.bytes = region.bytes.max(end.saturating_sub(region.base));
}

/// Where regions are not announced, chunks that touch make one.
fn contiguous_regions(mut chunks: Vec<Chunk>) -> Vec<Region> {
    chunks.sort_by_key(|chunk| chunk.address);
    chunks.dedup_by_key(|chunk| chunk.address);
    let mut regions: Vec<Region> = Vec::new();
    for chunk in chunks {
        let next = regions.last().map(|region| region.base.saturating_add(region.bytes));
        match regions.last_mut() {
            Some(region) if next == Some(chunk.address) => {
                region.bytes = region.bytes.saturating_add(chunk.bytes);
                region.chunks.push(chunk);
            }
            _ => regions.push(Region { base: chunk.address, bytes: chunk.bytes, chunks: vec![chunk] }),
        }
    }
    regions
}

fn pool(dump: &Dump, listed: &Listed, said: &Said) -> Option<Figure> {
    // A total below what is listed is a damaged line.
    if let Some(total) =
        said.total.filter(|total| total.agrees(listed.chunks()) || total.bytes >= listed.chunks())
    {
        return Some(if total.agrees(listed.regions) { Figure::exact(listed.regions) } else { total });
    }
    if listed.regions == 0 {
        return bins_total(&dump.bins, |bin| bin.bytes);
    }
    let whole = listed.is_whole() && said.in_use.is_some_and(|in_use| in_use.agrees(listed.used));
    let pool = if whole { Figure::exact(listed.regions) } else { Figure::at_least(listed.regions) };
    // Chunks that do not touch may be regions or gaps; the bins know how much there should be.
    let by_bins = bins_total(&dump.bins, |bin| bin.bytes).filter(|bins| bins.bytes > pool.bytes);
    Some(if whole { pool } else { by_bins.unwrap_or(pool) })
}

fn in_use(dump: &Dump, listed: &Listed, said: &Said) -> Option<Figure> {
    let by_bins = || bins_total(&dump.bins, |bin| bin.in_use);
    // Every byte of the pool is in a listed chunk, so the list is right, whatever a damaged line says.
    if listed.is_whole() && said.total.is_some_and(|total| total.agrees(listed.regions)) {
        return Some(Figure::exact(listed.used));
    }
    match said.in_use {
        Some(said) if said.agrees(listed.used) && listed.used > 0 => Some(Figure::exact(listed.used)),
        Some(said) if said.bytes >= listed.used => Some(said),
        Some(_) => Some(Figure::at_least(listed.used)),
        None if listed.used > 0 => {
            let bins = by_bins().filter(|bins| !bins.agrees(listed.used) && bins.bytes > listed.used);
            let whole = listed.is_whole() && by_bins().is_some_and(|bins| bins.agrees(listed.used));
            Some(bins.unwrap_or(if whole {
                Figure::exact(listed.used)
            } else {
                Figure::at_least(listed.used)
            }))
        }
        None => by_bins(),
    }
}

fn limit(dump: &Dump, said: &Said) -> Option<Figure> {
    let by_rest = || Some(dump.pool.filter(|pool| !pool.at_least)?.plus(said.available?));
    let limit = said.limit.or_else(by_rest)?;
    // `available 0B` is exact, so the limit is the pool; a rounded rest is only as good as the rounded limit.
    Some(limit.better(by_rest().filter(|sum| limit.agrees(sum.bytes))))
}

fn free(dump: &Dump, listed: &Listed) -> Option<Figure> {
    let (pool, in_use) = (dump.pool?, dump.in_use?);
    if pool.agrees(listed.chunks()) && in_use.agrees(listed.used) && listed.chunks() > 0 && !pool.at_least {
        return Some(Figure::exact(listed.free));
    }
    let rest = pool.minus(in_use);
    let unsure = pool.at_least || in_use.bytes > pool.bytes || listed.free > rest.bytes;
    Some(Figure { at_least: unsure, bytes: rest.bytes.max(listed.free), ..rest })
}

fn largest_free(dump: &Dump, listed: &Listed, said: &Said) -> Option<Figure> {
    let free = dump.free?;
    if free.is_exact() && free.bytes == listed.free {
        return Some(Figure::exact(listed.largest));
    }
    let hint = said.free_hint.into_iter().chain(largest_bin(&dump.bins));
    let best = hint.chain([Figure::at_least(listed.largest)]).max_by_key(|figure| figure.bytes)?;
    (best.bytes > 0).then_some(Figure { at_least: true, ..best })
}

/// The largest free chunk as far as bins tell: a bin with one free chunk tells its size, one with more at least the
/// smallest size of the bin.
fn largest_bin(bins: &[Bin]) -> Option<Figure> {
    let bin = bins.iter().filter(|bin| bin.chunks > bin.chunks_in_use).max_by_key(|bin| bin.smallest)?;
    let free = bin.bytes.minus(bin.in_use);
    Some(if bin.chunks - bin.chunks_in_use == 1 { free } else { Figure::at_least(bin.smallest) })
}

fn requested(bins: &[Bin]) -> Option<Figure> {
    bins_total(bins, |bin| bin.requested)
}

/// How many bins TensorFlow prints, empty or not.
const BINS: usize = 21;

fn bins_total(bins: &[Bin], of: impl Fn(&Bin) -> Figure) -> Option<Figure> {
    let total = bins.iter().map(of).reduce(Figure::plus)?;
    Some(Figure { at_least: total.at_least || bins.len() < BINS, ..total })
}

/// What a reader of the dump should know to be absent.
fn name_missing(dump: &mut Dump, listed: &Listed) {
    let mut missing = Vec::new();
    let contradictory = dump
        .in_use
        .zip(dump.pool)
        .is_some_and(|(in_use, pool)| in_use.bytes > pool.bytes.saturating_add(in_use.slack + pool.slack));
    if contradictory {
        missing.push("lines that fit together: more is in use than the pool has".to_string());
    }
    let mut say = |absent: bool, what: String| {
        if absent {
            missing.push(what);
        }
    };
    say(dump.request.is_none(), "the line that says how much was asked for".to_string());
    say(dump.limit.is_none(), "the limit".to_string());
    let no_chunks = dump.regions.is_empty();
    say(no_chunks, "the list of chunks".to_string());
    if !no_chunks {
        let gaps = listed.regions.saturating_sub(listed.chunks());
        say(gaps > 0, format!("chunks of {} inside the listed regions", Bytes(gaps)));
        let unlisted = dump
            .pool
            .filter(|pool| !pool.agrees(listed.regions))
            .map_or(0, |pool| pool.bytes.saturating_sub(listed.regions));
        say(
            unlisted > 0,
            format!("regions or chunks of {} that the pool has and the list does not", Bytes(unlisted)),
        );
        let unsure = dump.free.is_some_and(|free| free.at_least);
        say(
            unsure && unlisted + gaps == 0,
            "lines that fit together: the sums and the list of chunks differ".to_string(),
        );
        let unannounced = dump.pool.is_some_and(|pool| pool.at_least);
        say(unannounced && unlisted == 0, "the end of the list: there may be more chunks".to_string());
        say(
            !listed.announced && dump.regions.len() > 1,
            "where regions begin: chunks that do not touch are taken for regions".to_string(),
        );
    }
    let bins = dump.bins.len();
    say((1..BINS).contains(&bins), format!("{} of {BINS} bins", BINS.saturating_sub(bins)));
    say(dump.bins.is_empty(), "the bins, which tell how much of the chunks was really asked for".to_string());
    dump.missing.extend(missing);
}
