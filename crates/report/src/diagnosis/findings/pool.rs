//! What is found in the state of the pool: how much is there, in what pieces, and who else has some.

use super::{Finding, Reason};
use crate::diagnosis::Balance;
use crate::diagnosis::pieces::{self, cheapest_window};
use crate::diagnosis::surplus::{Surplus, surplus};
use crate::size::print;
use plimsoll_import::oomlog::{Dump, Source};

pub(super) fn too_big(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let (request, reachable) = (balance.request?, balance.reachable?);
    let short = request.checked_sub(reachable).filter(|short| *short > 0)?;
    let alone = dump.limit.is_some_and(|limit| request > limit.bytes);
    let text = match alone {
        true => format!(
            "one request of {} is larger than the whole limit of {}",
            print(request),
            print(dump.limit?.bytes)
        ),
        false => format!(
            "short by {} even if compacted: {} are not in use, {} were asked for",
            print(short),
            print(reachable),
            print(request)
        ),
    };
    Some(Finding { reason: Reason::TooBig, bytes: short, decisive: alone, text, window: None })
}

pub(super) fn in_pieces(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let free = dump.free.filter(|free| free.bytes > 0)?.bytes;
    let Some(largest) = dump.largest_free else { return unlisted_pieces(dump, balance, free) };
    let pieces = dump.chunks().filter(|chunk| !chunk.in_use).count();
    let share = 100.0 * free.saturating_sub(largest.bytes) as f64 / free as f64;
    let window = balance
        .request
        .and_then(|request| cheapest_window(dump, request))
        .filter(|window| !window.blockers.is_empty() && window.in_use() < window.bytes);
    let at_least = if largest.at_least { "at least " } else { "" };
    let count = if pieces > 0 { format!("{pieces} pieces") } else { "pieces".to_string() };
    let mut text = format!(
        "{} are free in {count}, the largest {at_least}{} (fragmentation {share:.0} %)",
        print(free),
        print(largest.bytes)
    );
    if let Some(window) = &window {
        let (moved, count) = (print(window.in_use()), window.blockers.len());
        let chunks = if count == 1 { "chunk stands" } else { "chunks stand" };
        text +=
            &format!("; the least that is in the way: {count} {chunks} between free pieces, {moved} in all");
    }
    let decisive = balance.request.is_some_and(|request| largest.bytes < request && request <= free);
    Some(Finding { reason: Reason::Pieces, bytes: free - largest.bytes.min(free), decisive, text, window })
}

/// Where only sums are known: enough is free, and yet it was not had.
fn unlisted_pieces(dump: &Dump, balance: &Balance, free: u64) -> Option<Finding> {
    let request = balance.request.filter(|request| *request <= free.saturating_add(balance.unreserved))?;
    let text = format!(
        "{} are reserved but not allocated, and no piece of it has the {} asked for",
        print(free),
        print(request)
    );
    let decisive = dump.pool.is_some() && request <= free;
    Some(Finding { reason: Reason::Pieces, bytes: free, decisive, text, window: None })
}

pub(super) fn in_surplus(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let Surplus { bytes, worst, certain } = surplus(dump)?;
    let short = balance.short();
    // A granule here and there is no cause.
    let much = dump.in_use.is_some_and(|in_use| bytes >= in_use.bytes / 20);
    if bytes < 1 << 20 && !much || bytes == 0 {
        return None;
    }
    let decisive = much && short.is_some_and(|short| short > 0 && bytes >= short);
    let mut text = format!(
        "{} of what is in use was never asked for: chunks are larger than their requests",
        print(bytes)
    );
    if let Some((chunk, most)) = worst {
        let likely = if certain { "" } else { "most likely " };
        text += &format!(
            "; {} of it in one unsplit chunk, {likely}the one of {} at 0x{:x}, which holds a request of {}",
            print(most),
            print(chunk.bytes),
            chunk.address,
            print(chunk.bytes.saturating_sub(most))
        );
    }
    Some(Finding { reason: Reason::Surplus, bytes, decisive, text, window: None })
}

pub(super) fn in_tails(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let regions = dump.regions.len();
    if regions < 2 && balance.unreserved == 0 || !dump.is_complete() {
        return None;
    }
    let (tails, count) = pieces::tails(dump);
    let joined = pieces::largest_joined(dump, balance.unreserved);
    let largest = dump.largest_free.map_or(0, |largest| largest.bytes);
    // Borders are all that is in the way where the ends of regions and what is not reserved would do.
    let borders = joined.max(tails.saturating_add(balance.unreserved));
    let decisive = balance.request.is_some_and(|request| largest < request && request <= borders);
    let stranded = stranded(dump, balance.request.unwrap_or(0));
    if tails + balance.unreserved == 0 {
        return None;
    }
    let mut text = format!(
        "the pool grew in {regions} regions, which never join; {} are free at the ends of {count} of them",
        print(tails)
    );
    if stranded > 0 {
        text += &format!(", {} lie in regions that are smaller than the request", print(stranded));
    }
    if balance.unreserved > 0 {
        text += &format!(", {} of the limit are not reserved", print(balance.unreserved));
    }
    text +=
        &format!("; with the same chunks in one region the largest free block would be {}", print(joined));
    Some(Finding {
        reason: Reason::RegionTails,
        bytes: joined.saturating_sub(largest),
        decisive,
        text,
        window: None,
    })
}

/// Free bytes in regions that could not meet the request even if they were empty.
fn stranded(dump: &Dump, request: u64) -> u64 {
    let small = dump.regions.iter().filter(|region| region.bytes < request);
    small.map(|region| region.free().0).sum()
}

pub(super) fn others(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let request = balance.request?;
    if dump.source == Source::TensorFlow && request <= balance.unreserved {
        let text = format!(
            "the limit of {} leaves {} to reserve, and the device still refused: another process has the memory",
            print(dump.limit?.bytes),
            print(balance.unreserved)
        );
        return Some(Finding { reason: Reason::Others, bytes: request, decisive: true, text, window: None });
    }
    if let Some(refused) = dump.driver_refused.filter(|refused| refused.bytes > 0 && dump.others.is_none()) {
        let text = format!(
            "the driver refused the pool a region of {}: what the device has is taken, by other processes or outside of the pool",
            print(refused.bytes)
        );
        return Some(Finding {
            reason: Reason::Others,
            bytes: refused.bytes,
            decisive: false,
            text,
            window: None,
        });
    }
    let held = dump.others?.bytes;
    let short = balance.short()?;
    let capacity = dump.capacity.or(dump.limit)?.bytes;
    if held < capacity / 20 {
        return None;
    }
    let text = format!(
        "{} of the device's {} are held by others: other processes, or this one outside of its pool",
        print(held),
        print(capacity)
    );
    Some(Finding {
        reason: Reason::Others,
        bytes: held,
        decisive: short > 0 && held >= short,
        text,
        window: None,
    })
}
