//! Memory in TensorFlow's profiles (`.xplane.pb`, as `tf.profiler.experimental.start` writes them): the events
//! `MemoryAllocation` and `MemoryDeallocation`, which every allocator of TensorFlow adds while a profile is taken.
//!
//! A profile begins in the middle: blocks that are freed without having been taken stand at the beginning of the trace,
//! and what else the allocator says it had is one block more.

mod space;

use crate::protobuf::WireError;
use plimsoll_trace::{About, BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace, What};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;

/// What a profile may have in bytes, and how many of its events are kept.
const LARGEST: u64 = 512 << 20;
const MOST_EVENTS: usize = 1 << 23;
/// No device has so many bytes.
const ABSURD: u64 = 1 << 52;

/// Reads the memory events of a profile.
pub fn read(input: impl Read) -> Result<Profile, ProfileError> {
    let mut bytes = Vec::new();
    input.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ProfileError::TooLarge);
    }
    let mut events = space::memory_events(&bytes)?;
    if events.is_empty() {
        return Err(ProfileError::NoMemory);
    }
    events.sort_by_key(|event| event.picoseconds);
    let mut by_name: BTreeMap<String, Vec<MemoryEvent>> = BTreeMap::new();
    for event in events {
        by_name.entry(event.allocator.clone()).or_default().push(event);
    }
    let mut allocators: Vec<_> = by_name.into_iter().collect();
    allocators.sort_by_key(|(_, events)| std::cmp::Reverse(events.len()));
    Ok(Profile { allocators })
}

/// What the allocators of a profile did, each in order; the one with the most events first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The name of each allocator and what it did.
    pub allocators: Vec<(String, Vec<MemoryEvent>)>,
}

/// A block was taken or freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryEvent {
    /// The allocator.
    pub allocator: String,
    /// When.
    pub picoseconds: u64,
    /// Whether it was freed.
    pub is_free: bool,
    /// Where it begins.
    pub address: u64,
    /// What was asked for.
    pub requested: u64,
    /// What was given.
    pub given: u64,
    /// What all live blocks have been given, after this event.
    pub in_use: u64,
    /// What the allocator could still give.
    pub available: u64,
    /// What it keeps for itself.
    pub reserved: u64,
    /// The op, or nothing.
    pub op: String,
    /// `output`, `temp`, ..., or nothing.
    pub kind: String,
}

/// A profile that cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum ProfileError {
    #[error("it cannot be read: {0}")]
    Broken(#[from] std::io::Error),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    #[error("it has more than {MOST_EVENTS} memory events")]
    TooMany,
    #[error("it is no profile of TensorFlow's, or has no memory events")]
    NoMemory,
}

impl Profile {
    /// What it does not say, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let Some((_, events)) = self.allocators.first() else { return Vec::new() };
        let unknown = Bytes(unknown(events, &blocks_before(events)));
        let note = format!(
            "the profile begins in the middle: {unknown} were live throughout, it does not say where"
        );
        if unknown > Bytes::ZERO { vec![note] } else { Vec::new() }
    }

    /// What the busiest allocator did, in requested bytes. An event's time is its number; clocks are marks.
    pub fn to_trace(&self) -> Trace {
        let Some((name, events)) = self.allocators.first() else { return Trace::default() };
        let before = blocks_before(events);
        let lowest = events.iter().map(|event| event.address).min().unwrap_or(0);
        let mut story = Story { lowest, ..Story::default() };
        story.trace.about = about(name, events);
        story.nothing_known(events, &before);
        before.iter().for_each(|event| story.take(event));
        for event in events {
            story.read_clock(event.picoseconds - events[0].picoseconds);
            match event.is_free {
                true => story.free(event.address),
                false => story.take(event),
            }
        }
        story.trace
    }
}

fn about(allocator: &str, events: &[MemoryEvent]) -> About {
    let first = &events[0];
    let limit = first.in_use.saturating_add(first.available).saturating_add(first.reserved);
    let limit = Some(Bytes(limit)).filter(|limit| (1..ABSURD).contains(&limit.0));
    let (origin, allocator) = ("TensorFlow profile".to_string(), allocator.to_string());
    let reported_peak = events.iter().map(|event| Bytes(event.in_use)).max().filter(|peak| peak.0 < ABSURD);
    About { origin, allocator, limit, reported_peak, ..About::default() }
}

/// The frees of blocks that were live when the profile began.
fn blocks_before(events: &[MemoryEvent]) -> Vec<&MemoryEvent> {
    let mut seen = HashSet::new();
    events.iter().filter(|event| seen.insert(event.address) && event.is_free).collect()
}

/// The bytes that were live all the time, of which nothing is known but how many they are.
fn unknown(events: &[MemoryEvent], before: &[&MemoryEvent]) -> u64 {
    let first = &events[0];
    let at_start = match first.is_free {
        true => first.in_use.saturating_add(first.given),
        false => first.in_use.saturating_sub(first.given),
    };
    let known = before.iter().fold(0u64, |sum, event| sum.saturating_add(event.given));
    Some(at_start.saturating_sub(known)).filter(|rest| *rest < ABSURD).unwrap_or(0)
}

/// The lowest address from which on so many bytes are never given to anybody else.
fn unused(events: &[MemoryEvent], bytes: u64) -> u64 {
    let mut given: Vec<(u64, u64)> =
        events.iter().map(|event| (event.address, event.address.saturating_add(event.given))).collect();
    given.sort_unstable();
    let mut free = given.first().map_or(0, |(start, _)| *start);
    for (start, end) in given {
        if start.saturating_sub(free) >= bytes {
            break;
        }
        free = free.max(end);
    }
    free
}

/// A trace that is being made.
#[derive(Default)]
struct Story {
    trace: Trace,
    /// What offsets count from.
    lowest: u64,
    labels: HashMap<(String, String), LabelId>,
    live: HashMap<u64, BlockId>,
    clock: u64,
}

impl Story {
    /// One block for what was live all the time. It stands where nobody else ever is.
    fn nothing_known(&mut self, events: &[MemoryEvent], before: &[&MemoryEvent]) {
        let requested = unknown(events, before);
        if requested > 0 {
            let op = "live throughout the profile".to_string();
            let address = unused(events, requested);
            self.take(&MemoryEvent { address, requested, op, ..MemoryEvent::default() });
        }
    }

    fn take(&mut self, event: &MemoryEvent) {
        let Ok(number) = u32::try_from(self.trace.events.len()) else { return };
        if event.requested >= ABSURD || self.live.contains_key(&event.address) {
            return;
        }
        let (time, block) = (Time(number), BlockId(number));
        self.live.insert(event.address, block);
        let offset = Offset(event.address.saturating_sub(self.lowest));
        let (bytes, label) = (Bytes(event.requested), self.label(&event.op, &event.kind));
        self.trace.events.push(Event::Take { time, block, offset, bytes, label });
    }

    fn free(&mut self, address: u64) {
        let time = Time(u32::try_from(self.trace.events.len()).unwrap_or(u32::MAX));
        if let Some(block) = self.live.remove(&address) {
            self.trace.events.push(Event::Free { time, block });
        }
    }

    fn read_clock(&mut self, picoseconds: u64) {
        let nanoseconds = picoseconds / 1000;
        if nanoseconds > self.clock {
            self.clock = nanoseconds;
            self.trace.mark(What::Clock { nanoseconds });
        }
    }

    fn label(&mut self, op: &str, kind: &str) -> LabelId {
        let trace = &mut self.trace;
        *self.labels.entry((op.to_string(), kind.to_string())).or_insert_with(|| {
            let (value, role, op) = (op.to_string(), kind.to_string(), op.to_string());
            trace.add_label(Label { value, role, op, ..Label::default() })
        })
    }
}
