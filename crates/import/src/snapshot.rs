//! PyTorch's memory snapshots (`torch.cuda.memory._dump_snapshot`): the blocks of every segment, and what happened
//! before, if it was recorded.

mod history;

use crate::gzip::Unpacked;
use crate::oomlog::{Chunk, Dump, Figure, LARGEST_CHUNK, LoggedHolder, Region, Source};
use crate::pickle::{self, Node, Pickle, PickleError};
use std::collections::HashMap;
use std::io::Read;

/// How many blocks and how many holders of a snapshot are kept.
const MOST_BLOCKS: usize = 1 << 20;
const MOST_HOLDERS: usize = 1 << 12;

/// Reads a snapshot, gzip or not.
pub fn read(input: impl Read) -> Result<Snapshot, SnapshotError> {
    let pickle = pickle::read(Unpacked::new(input).map_err(SnapshotError::Broken)?)?;
    let root = pickle.root();
    let is_snapshot = root.get("segments").is_some() || root.items().next().is_some_and(is_segment);
    if !is_snapshot {
        return Err(SnapshotError::NoSegments);
    }
    Ok(Snapshot { pickle })
}

/// A snapshot.
#[derive(Debug)]
pub struct Snapshot {
    pickle: Pickle,
}

/// A snapshot that cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum SnapshotError {
    #[error("it cannot be read: {0}")]
    Broken(std::io::Error),
    #[error(transparent)]
    Pickle(#[from] PickleError),
    #[error("the pickle has no list of segments, so it is no memory snapshot of PyTorch's")]
    NoSegments,
}

impl Snapshot {
    /// The pools as out-of-memory reports: those of devices where an `oom` was recorded, or all where none was.
    pub fn dumps(&self) -> Vec<Dump> {
        let mut devices: Vec<u64> = self.segments().map(device).collect();
        devices.sort_unstable();
        devices.dedup();
        let mut dumps: Vec<Dump> = devices.into_iter().map(|number| self.dump(number)).collect();
        if dumps.iter().any(|dump| dump.request.is_some()) {
            dumps.retain(|dump| dump.request.is_some());
        }
        dumps
    }

    fn segments(&self) -> impl Iterator<Item = Node<'_>> {
        let root = self.pickle.root();
        root.get("segments").unwrap_or(root).items()
    }

    fn dump(&self, number: u64) -> Dump {
        let mut dump = Dump { source: Source::PyTorch, line: 1, repeated: 1, ..Dump::default() };
        dump.allocator = Some(format!("GPU {number}"));
        let mut holders = Holders::default();
        let mut left_out = 0;
        for segment in self.segments().filter(|segment| device(*segment) == number) {
            let room = MOST_BLOCKS.saturating_sub(dump.chunks().count());
            let (region, dropped) = region(segment, &mut holders, room);
            left_out += dropped;
            dump.regions.push(region);
        }
        dump.regions.sort_by_key(|region| region.base);
        dump.holders = holders.list;
        if left_out > 0 {
            dump.missing.push(format!("{left_out} blocks beyond what is kept"));
        }
        sum_up(&mut dump);
        self.add_request(&mut dump, number);
        dump
    }

    /// The last request that failed, if events were recorded.
    fn add_request(&self, dump: &mut Dump, number: u64) {
        let failed = self.events(number).filter(|event| word(event, "action") == Some("oom")).last();
        match failed {
            Some(event) => {
                dump.request = Some(Figure::exact(bytes(&event, "size")));
                dump.device_free = event.get("device_free").map(|_| Figure::exact(bytes(&event, "device_free")));
                dump.op = event.get("frames").and_then(frame);
            }
            None => dump.missing.push(
                "the request that failed: it is recorded only after torch.cuda.memory._record_memory_history()".to_string(),
            ),
        }
    }

    fn events(&self, number: u64) -> impl Iterator<Item = Node<'_>> {
        let traces = self.pickle.root().get("device_traces");
        let trace =
            traces.and_then(|traces| traces.items().nth(usize::try_from(number).unwrap_or(usize::MAX)));
        trace.into_iter().flat_map(|trace| trace.items())
    }
}

#[derive(Default)]
struct Holders {
    list: Vec<LoggedHolder>,
    by_name: HashMap<String, u32>,
}

impl Holders {
    /// The number of a holder, plus 1, with its bytes counted.
    fn add(&mut self, who: String, bytes: u64) -> u32 {
        let next = self.list.len() as u32;
        if next as usize >= MOST_HOLDERS && !self.by_name.contains_key(&who) {
            return 0;
        }
        let index = *self.by_name.entry(who.clone()).or_insert(next);
        if index == next {
            self.list.push(LoggedHolder { who, bytes: Figure::default() });
        }
        let held = &mut self.list[index as usize].bytes;
        *held = held.plus(Figure::exact(bytes));
        index + 1
    }
}

/// A segment with at most so many blocks, and how many are left out.
fn region(segment: Node, holders: &mut Holders, room: usize) -> (Region, usize) {
    let base = count(&segment, "address").unwrap_or(0);
    let mut region = Region { base, bytes: bytes(&segment, "total_size"), chunks: Vec::new() };
    let mut next = base;
    let mut left_out = 0;
    for block in segment.get("blocks").into_iter().flat_map(|blocks| blocks.items()) {
        if region.chunks.len() >= room {
            left_out += 1;
            continue;
        }
        // Older snapshots list blocks without addresses, one behind the other.
        let address = count(&block, "address").unwrap_or(next);
        let bytes = bytes(&block, "size");
        let in_use = word(&block, "state").is_some_and(|state| state.starts_with("active"));
        let requested = count(&block, "requested_size").filter(|requested| in_use && *requested <= bytes);
        let who = block.get("frames").and_then(frame).filter(|_| in_use);
        let holder = who.map_or(0, |who| holders.add(who, bytes));
        region.chunks.push(Chunk { address, bytes, requested, in_use, holder });
        next = address.saturating_add(bytes);
    }
    region.chunks.sort_by_key(|chunk| chunk.address);
    (region, left_out)
}

/// The sums that follow from the blocks.
fn sum_up(dump: &mut Dump) {
    let total =
        |of: &dyn Fn(&Chunk) -> u64| Figure::exact(dump.chunks().map(of).fold(0, u64::saturating_add));
    let in_use = total(&|chunk| if chunk.in_use { chunk.bytes } else { 0 });
    let free = total(&|chunk| if chunk.in_use { 0 } else { chunk.bytes });
    let requested = total(&|chunk| chunk.requested.unwrap_or(if chunk.in_use { chunk.bytes } else { 0 }));
    let largest = dump.chunks().filter(|chunk| !chunk.in_use).map(|chunk| chunk.bytes).max().unwrap_or(0);
    let pool = dump.regions.iter().map(|region| region.bytes).fold(0, u64::saturating_add);
    dump.in_use = Some(in_use);
    dump.free = Some(free);
    dump.requested_in_use = Some(requested);
    dump.largest_free = Some(Figure::exact(largest));
    dump.pool = Some(Figure::exact(pool));
}

/// The line of the user's program in a stack of frames: the first that is not PyTorch's own; otherwise the first of
/// all.
fn frame(frames: Node) -> Option<String> {
    let is_users = |frame: &Node| {
        word(frame, "filename").is_some_and(|file| {
            file.ends_with(".py") && !file.contains("torch/") && !file.contains("torch\\")
        })
    };
    let chosen = frames.items().find(is_users).or_else(|| frames.items().next())?;
    let file = word(&chosen, "filename").unwrap_or_default();
    let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let (line, name) = (count(&chosen, "line").unwrap_or(0), word(&chosen, "name").unwrap_or_default());
    Some(format!("{file}:{line} {name}").chars().take(200).collect())
}

fn is_segment(node: Node) -> bool {
    node.get("blocks").is_some_and(|blocks| blocks.is_list())
}

fn device(segment: Node) -> u64 {
    count(&segment, "device").unwrap_or(0)
}

fn count(node: &Node, key: &str) -> Option<u64> {
    node.get(key).and_then(|value| value.number())
}

/// A size that a device can have; otherwise nothing.
fn bytes(node: &Node, key: &str) -> u64 {
    count(node, key).filter(|bytes| *bytes <= LARGEST_CHUNK).unwrap_or(0)
}

fn word<'a>(node: &Node<'a>, key: &str) -> Option<&'a str> {
    node.get(key).and_then(|value| value.text())
}
