//! The reports of a log that are kept, in memory that does not grow.

use super::KEPT;
use super::dump::Dump;
use std::collections::VecDeque;

/// How many chunks all kept reports may have together.
const MOST_CHUNKS: usize = 1 << 20;

/// The first reports and the last ones.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) first: Vec<Dump>,
    pub(crate) last: VecDeque<Dump>,
    pub(crate) skipped: u64,
    chunks: usize,
}

impl Kept {
    pub(crate) fn push(&mut self, mut dump: Dump) {
        let chunks = dump.chunks().count();
        if self.chunks + chunks > MOST_CHUNKS {
            dump.regions.clear();
            dump.missing.push("the chunks: the log has more of them than are kept".to_string());
        } else {
            self.chunks += chunks;
        }
        if self.first.len() < KEPT {
            return self.first.push(dump);
        }
        if self.last.len() == KEPT {
            self.skipped += 1;
            self.chunks -= self.last.pop_front().map_or(0, |dump| dump.chunks().count());
        }
        self.last.push_back(dump);
    }
}
