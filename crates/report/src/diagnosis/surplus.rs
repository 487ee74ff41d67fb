//! Surplus: what chunks have and nobody asked for. TensorFlow splits a chunk only if it is at least twice the request
//! (or leaves 128 MiB).

use plimsoll_import::oomlog::{Bin, Chunk, Dump};

/// What chunks in use have beyond what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Surplus {
    /// All of it.
    pub(crate) bytes: u64,
    /// The chunk with the most of it, and how much that is.
    pub(crate) worst: Option<(Chunk, u64)>,
    /// Whether no other chunk can be the one.
    pub(crate) certain: bool,
}

/// What the bins, or the chunks themselves, tell about surplus.
pub(crate) fn surplus(dump: &Dump) -> Option<Surplus> {
    by_chunks(dump).or_else(|| by_bins(dump))
}

/// Where each chunk says what was asked for.
fn by_chunks(dump: &Dump) -> Option<Surplus> {
    let known = dump.chunks().filter(|chunk| chunk.in_use);
    let known = known.filter_map(|chunk| Some((*chunk, chunk.bytes.saturating_sub(chunk.requested?))));
    let known: Vec<(Chunk, u64)> = known.collect();
    let worst = known.iter().max_by_key(|(_, bytes)| *bytes).copied()?;
    Some(Surplus { bytes: known.iter().map(|(_, bytes)| bytes).sum(), worst: Some(worst), certain: true })
}

fn by_bins(dump: &Dump) -> Option<Surplus> {
    let of = |bin: &Bin| bin.in_use.bytes.saturating_sub(bin.requested.bytes);
    let bytes = dump.bins.iter().map(of).sum();
    let bin = dump.bins.iter().max_by_key(|bin| of(bin))?;
    let (worst, certain) = holder(dump, bin, of(bin));
    Some(Surplus { bytes, worst: worst.map(|chunk| (chunk, of(bin))), certain })
}

/// The chunk of a bin that a surplus must be in. Of several that it can be in, the last of its region is likeliest,
/// since what is left at the end of a region is what gets taken unsplit; then the largest. None where no one chunk can
/// have all of it.
fn holder(dump: &Dump, bin: &Bin, surplus: u64) -> (Option<Chunk>, bool) {
    // The last bin has everything that is larger.
    let end = if bin.smallest >= 256 << 20 { u64::MAX } else { bin.smallest.saturating_mul(2) };
    let in_bin = |chunk: &Chunk| chunk.in_use && (bin.smallest..end).contains(&chunk.bytes);
    // With twice the request or more the chunk would have been split.
    let can = |chunk: &Chunk| surplus > 0 && surplus.saturating_mul(2) < chunk.bytes.saturating_add(512);
    let mut candidates: Vec<(bool, Chunk)> = Vec::new();
    for region in &dump.regions {
        let last = region.chunks.last().map(|chunk| chunk.address);
        let possible = region.chunks.iter().filter(|chunk| in_bin(chunk) && can(chunk));
        candidates.extend(possible.map(|chunk| (Some(chunk.address) == last, *chunk)));
    }
    let likeliest = candidates.iter().max_by_key(|(last, chunk)| (*last, chunk.bytes));
    (likeliest.map(|(_, chunk)| *chunk), candidates.len() == 1 && bin.chunks_in_use == 1)
}
