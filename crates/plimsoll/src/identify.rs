//! Who the chunks of an out-of-memory report are, if the model is known: sizes are matched with the values of its
//! training step.
//!
//! ```
//! use plimsoll::import::oomlog;
//! use plimsoll::model::zoo;
//! use plimsoll::{Job, identify::identify};
//!
//! let log = oomlog::read(&b"ran out of memory trying to allocate 1.0KiB\n3 Chunks of size 25600 totalling 75.0KiB\n"[..])?;
//! let prepared = Job::new(zoo::find("mlp@64")?, 32).prepare()?;
//! let known = identify(&log.dumps[0], prepared.step().graph(), 10);
//! assert_eq!((known[0].bytes.0, known[0].count), (25600, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::Bytes;
use plimsoll_graph::{Graph, Role, ValueId};
use plimsoll_import::oomlog::Dump;
use plimsoll_plan::bytes_of;
use std::collections::{BTreeMap, HashSet};

/// What allocators round sizes up to.
const GRANULE: u64 = 256;

/// Chunks of one size, and the values of a training step that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identified {
    /// The size of each chunk.
    pub bytes: Bytes,
    /// How many are in use.
    pub count: u64,
    /// Whether the values have just this size; otherwise they are the largest that fit into an unsplit chunk.
    pub exact: bool,
    /// How many values there are, by role.
    pub roles: BTreeMap<Role, usize>,
    /// The names of some, in the order of the graph.
    pub values: Vec<String>,
}

/// The sizes of chunks that hold most, each with the values that may be in them; nothing of a size that no value
/// explains.
pub fn identify(dump: &Dump, graph: &Graph, most: usize) -> Vec<Identified> {
    let by_size = values_by_size(graph);
    let mut sizes: Vec<(u64, u64)> = sizes_in_use(dump).into_iter().collect();
    sizes.sort_by_key(|&(bytes, count)| std::cmp::Reverse((bytes.saturating_mul(count), bytes)));
    let identified = sizes.into_iter().filter_map(|(bytes, count)| {
        // An unsplit chunk has less than twice what was asked for.
        let (size, ids) = by_size.range(bytes / 2 + 1..=bytes).next_back()?;
        let mut roles = BTreeMap::new();
        ids.iter().for_each(|&id| *roles.entry(graph.value(id).role).or_insert(0) += 1);
        let values = ids.iter().take(4).map(|&id| graph.value(id).name.clone()).collect();
        Some(Identified { bytes: Bytes(bytes), count, exact: *size == bytes, roles, values })
    });
    identified.take(most).collect()
}

fn values_by_size(graph: &Graph) -> BTreeMap<u64, Vec<ValueId>> {
    let mut by_size: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    // What an update gives takes the place of what it updates.
    let persistent: HashSet<ValueId> = graph.persistents().collect();
    let own = |id: &ValueId| persistent.contains(id) || !graph.value(*id).role.is_persistent();
    for id in graph.value_ids().filter(own) {
        let size = bytes_of(graph.tensor(id)).0.next_multiple_of(GRANULE);
        by_size.entry(size).or_default().push(id);
    }
    by_size
}

/// Live chunks by size: one by one where they are listed, otherwise as the report counts them.
fn sizes_in_use(dump: &Dump) -> BTreeMap<u64, u64> {
    let mut sizes = BTreeMap::new();
    if dump.is_complete() {
        dump.chunks()
            .filter(|chunk| chunk.in_use)
            .for_each(|chunk| *sizes.entry(chunk.bytes).or_insert(0) += 1);
    } else {
        sizes.extend(dump.sizes.iter().map(|size| (size.bytes, size.count)));
    }
    sizes
}
