//! What a snapshot recorded of a device's allocations, as a trace.
//!
//! PyTorch keeps only the last events. What was there before them is known from two sides: it is freed without having
//! been taken, or it is still there at the end. Both stand at the beginning of the trace.

use super::{Snapshot, bytes, count, device, frame, word};
use crate::pickle::Node;
use crate::recorded::Start;
use plimsoll_trace::{About, BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace, What};
use std::collections::{BTreeMap, HashMap, HashSet};

/// By address: how long it is, and the frames of who asked.
type Places<'a> = BTreeMap<u64, (u64, Option<Node<'a>>)>;

impl Snapshot {
    /// The device with the most recorded events, or the first.
    pub fn busiest_device(&self) -> u64 {
        let numbers = self.segments().map(device).chain([0]).filter(|number| *number < 1 << 16);
        numbers.max_by_key(|number| (self.events(*number).count(), u64::MAX - number)).unwrap_or(0)
    }

    /// Whether it has events at all.
    pub fn has_history(&self) -> bool {
        self.events(self.busiest_device()).next().is_some()
    }

    /// What happened to a device's memory: what was there before the recorded events, then those. Segments are regions.
    pub fn to_trace(&self, number: u64) -> Trace {
        let blocks = self.blocks_before(number);
        let regions = self.regions_before(number);
        let addresses =
            self.events(number).filter(|event| is_place(event)).filter_map(|event| count(&event, "addr"));
        let all = addresses.chain(blocks.keys().copied()).chain(regions.keys().copied());
        let mut history = History { lowest: all.min().unwrap_or(0), ..History::default() };
        let (origin, allocator) = ("snapshot of PyTorch's memory".to_string(), "torch".to_string());
        history.trace.about = About { origin, allocator, title: format!("GPU {number}"), ..About::default() };
        regions.iter().for_each(|(address, (bytes, _))| history.region(*address, *bytes));
        blocks.iter().for_each(|(address, (bytes, frames))| history.take(*address, *bytes, *frames));
        self.events(number).for_each(|event| history.add(event));
        history.trace
    }

    /// How many blocks were live before the first recorded event.
    pub(crate) fn count_before(&self, number: u64) -> usize {
        self.blocks_before(number).len()
    }

    /// How the pool stood before the first recorded event; none where nothing was live, or where segments expand.
    pub(crate) fn start(&self, number: u64) -> Option<Start> {
        let mapped = ["segment_map", "segment_unmap"];
        let expands = |segment: Node| segment.get("is_expandable").is_some_and(|flag| flag.is_true());
        if self.segments().any(expands) || self.events(number).any(|event| is_any(&event, &mapped)) {
            return None;
        }
        let regions = self.regions_before(number).into_iter();
        let later = self.events(number).filter(|event| is_any(event, &["segment_alloc"]));
        let mut start = Start {
            allocator: "torch",
            regions: regions.map(|(address, (bytes, _))| (address, Bytes(bytes))).collect(),
            later: later.filter_map(|event| count(&event, "addr")).collect(),
            blocks: Vec::new(),
        };
        for (address, (bytes, _)) in self.blocks_before(number) {
            start.add(address, Bytes(bytes))?;
        }
        (!start.blocks.is_empty()).then_some(start)
    }

    /// Blocks that were live before the first recorded event.
    fn blocks_before(&self, number: u64) -> Places<'_> {
        let mut before = missed(self.events(number), &["alloc"], &["free_completed", "free"]);
        let mut live: HashSet<u64> = HashSet::new();
        let mut freed: HashSet<u64> = HashSet::new();
        for event in self.events(number) {
            let Some(address) = count(&event, "addr") else { continue };
            match word(&event, "action") {
                Some("alloc") => drop(live.insert(address)),
                Some("free_completed" | "free") => {
                    live.remove(&address);
                    freed.insert(address);
                }
                _ => {}
            }
        }
        for segment in self.segments().filter(|segment| device(*segment) == number) {
            let mut next = count(&segment, "address").unwrap_or(0);
            for block in segment.get("blocks").into_iter().flat_map(|blocks| blocks.items()) {
                let address = count(&block, "address").unwrap_or(next);
                next = address.saturating_add(bytes(&block, "size"));
                let active = word(&block, "state").is_some_and(|state| state.starts_with("active"));
                if active && !live.contains(&address) && !freed.contains(&address) {
                    before.insert(address, (bytes(&block, "size"), block.get("frames")));
                }
            }
        }
        before
    }

    /// Segments that were there before the first recorded event.
    fn regions_before(&self, number: u64) -> Places<'_> {
        let (made, gone) = (["segment_alloc", "segment_map"], ["segment_free", "segment_unmap"]);
        let mut before = missed(self.events(number), &made, &gone);
        let recorded: HashSet<u64> = self
            .events(number)
            .filter(|event| is_any(event, &made))
            .filter_map(|event| count(&event, "addr"))
            .collect();
        for segment in self.segments().filter(|segment| device(*segment) == number) {
            if let Some(address) = count(&segment, "address").filter(|address| !recorded.contains(address)) {
                before.insert(address, (bytes(&segment, "total_size"), None));
            }
        }
        before
    }
}

/// What was given back without having been got before.
fn missed<'a>(events: impl Iterator<Item = Node<'a>>, got: &[&str], given: &[&str]) -> Places<'a> {
    let mut seen = HashSet::new();
    let mut missed = Places::new();
    for event in events {
        let Some(address) = count(&event, "addr") else { continue };
        if is_any(&event, got) {
            seen.insert(address);
        } else if is_any(&event, given) && seen.insert(address) {
            missed.insert(address, (bytes(&event, "size"), None));
        }
    }
    missed
}

/// Whether the address of an event is one: where memory ran out, it is something else.
fn is_place(event: &Node) -> bool {
    word(event, "action").is_some_and(|action| action != "oom" && action != "snapshot")
}

fn is_any(event: &Node, actions: &[&str]) -> bool {
    word(event, "action").is_some_and(|action| actions.contains(&action))
}

/// A trace that is being made.
#[derive(Default)]
struct History {
    trace: Trace,
    /// What offsets count from.
    lowest: u64,
    labels: HashMap<u32, LabelId>,
    live: HashMap<u64, BlockId>,
    /// When the first event happened, in microseconds.
    start: Option<u64>,
    clock: u64,
}

impl History {
    fn add(&mut self, event: Node) {
        self.read_clock(&event);
        let (address, size) = (count(&event, "addr"), bytes(&event, "size"));
        match (word(&event, "action"), address) {
            (Some("alloc"), Some(address)) => self.take(address, size, event.get("frames")),
            (Some("free_completed" | "free"), Some(address)) => self.free(address),
            (Some("segment_alloc" | "segment_map"), Some(address)) => self.region(address, size),
            (Some("segment_free" | "segment_unmap"), Some(address)) => self.region(address, 0),
            (Some("oom"), _) => {
                let label = self.label(event.get("frames"));
                self.trace.mark(What::Refused { bytes: Bytes(size), label });
            }
            _ => {}
        }
    }

    fn read_clock(&mut self, event: &Node) {
        let Some(time) = count(event, "time_us") else { return };
        let since = time.saturating_sub(*self.start.get_or_insert(time));
        if since > self.clock {
            self.clock = since;
            self.trace.mark(What::Clock { nanoseconds: since.saturating_mul(1000) });
        }
    }

    fn take(&mut self, address: u64, size: u64, frames: Option<Node>) {
        let Ok(number) = u32::try_from(self.trace.events.len()) else { return };
        if self.live.contains_key(&address) {
            return;
        }
        let (time, block, label) = (Time(number), BlockId(number), self.label(frames));
        self.live.insert(address, block);
        let offset = self.offset(address);
        self.trace.events.push(Event::Take { time, block, offset, bytes: Bytes(size), label });
    }

    fn free(&mut self, address: u64) {
        let time = Time(u32::try_from(self.trace.events.len()).unwrap_or(u32::MAX));
        if let Some(block) = self.live.remove(&address) {
            self.trace.events.push(Event::Free { time, block });
        }
    }

    fn region(&mut self, address: u64, size: u64) {
        let offset = self.offset(address);
        self.trace.mark(What::Region { offset, bytes: Bytes(size) });
    }

    fn offset(&self, address: u64) -> Offset {
        Offset(address.saturating_sub(self.lowest))
    }

    fn label(&mut self, frames: Option<Node>) -> LabelId {
        let trace = &mut self.trace;
        *self.labels.entry(frames.map_or(u32::MAX, |frames| frames.id())).or_insert_with(|| {
            let op = frames.and_then(frame).unwrap_or_default();
            trace.add_label(Label { value: op.clone(), op, ..Label::default() })
        })
    }
}
