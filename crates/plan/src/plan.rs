//! The plan and how it is made.
//!
//! Equations that hold for every plan and that `verify` checks in the same words:
//! - a buffer is as large as its values or its scratch, rounded up, and live from the first step that uses it to the
//!   last one.
//! - `peak = max over buffers of offset + bytes`.
//! - `floor = max over steps of the sum of bytes of the buffers live at that step`.
//! - two buffers that are live at the same step do not overlap.
//! - persistent buffers lie below all others: `[0, persistent)`.
//! - no buffer crosses a multiple of `page`, and every offset is a multiple of `alignment`.

use crate::buffers::{self, Drafts};
use crate::place::pages::{PageRules, place_above};
use crate::place::stack::Stack;
use crate::place::{self, Interval, place};
use crate::{Target, bytes_of, order};
use plimsoll_graph::{Graph, OpId, Role, ValueId};
use plimsoll_trace::{Alignment, Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;

/// Names a buffer of one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BufferId(pub u32);

/// When each op runs and where every byte lives. A step is a position in `order`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The ops in the order in which they run; ops that nothing depends on are left out.
    pub order: Vec<OpId>,
    /// Everything that takes memory.
    pub buffers: Vec<Buffer>,
    /// For each value of the graph, the buffer that holds it; `None` if it is never computed.
    pub storage: Vec<Option<BufferId>>,
    /// For each step, the scratch of its kernel.
    pub scratch: Vec<Option<BufferId>>,
    /// What every offset is a multiple of.
    pub alignment: Alignment,
    /// What no buffer crosses a multiple of; nothing where the arena is one piece.
    pub page: Option<Bytes>,
    /// Where the bytes that live across steps end; all others lie above.
    pub persistent: Bytes,
    /// The size of the arena.
    pub peak: Bytes,
    /// The most bytes live at once: no layout can do better.
    pub floor: Bytes,
}

/// A range of the arena that belongs to one or several values for some steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Its size, rounded up to the alignment.
    pub bytes: Bytes,
    /// The steps during which it is live, half-open.
    pub live: Range<u32>,
    /// Where it begins.
    pub offset: Offset,
    /// The role of the first value it holds; workspace for scratch.
    pub role: Role,
    /// The values it holds, one after another or as views of each other; none for scratch.
    pub values: Vec<ValueId>,
}

/// Which ideas a plan may use. All are exact: the numbers a step computes stay the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Let an op write its result over an input that nobody reads any more.
    pub in_place: bool,
    /// Update each parameter as soon as its gradient is complete, and drop the gradient, instead of updating all at the
    /// end.
    pub update_when_ready: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { in_place: true, update_when_ready: true }
    }
}

/// Persistent values that already have a place, such as the weights of a model that is being trained, when a plan for
/// its evaluation is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residents {
    /// Where each begins, by name.
    pub offsets: HashMap<String, Offset>,
    /// Where they all end, and other bytes may begin.
    pub end: Offset,
}

impl Residents {
    /// A place for every persistent value of several graphs that share those of the same name.
    pub fn of_all<'a>(graphs: impl IntoIterator<Item = &'a Graph>, target: &Target) -> Self {
        let mut stack = Stack::above(Offset::START, target.page);
        let mut offsets = HashMap::new();
        for graph in graphs {
            for id in graph.persistents() {
                let bytes = bytes_of(graph.tensor(id)).aligned(target.alignment);
                offsets.entry(graph.value(id).name.clone()).or_insert_with(|| stack.take(bytes));
            }
        }
        Self { offsets, end: stack.end() }
    }
}

/// Makes a plan. Same inputs, same plan.
pub fn plan(graph: &Graph, target: &Target, options: Options, residents: &Residents) -> Plan {
    let order = order::order(graph, options.update_when_ready);
    let Drafts { mut buffers, storage, scratch } = buffers::buffers(graph, &order, target, options);
    let base = place_persistent(graph, &mut buffers, residents, target);
    place_transient(&mut buffers, base, target);
    let peak = buffers.iter().map(|buffer| buffer.end().distance()).max().unwrap_or_default();
    let floor = place::floor(&buffers.iter().map(interval).collect::<Vec<_>>());
    let (alignment, page, persistent) = (target.alignment, target.page, base.distance());
    Plan { order, buffers, storage, scratch, alignment, page, persistent, peak, floor }
}

/// Puts the persistent buffers where they already are, the others one after another behind them. Gives their end.
fn place_persistent(graph: &Graph, buffers: &mut [Buffer], residents: &Residents, target: &Target) -> Offset {
    let mut stack = Stack::above(residents.end, target.page);
    for buffer in buffers.iter_mut().filter(|buffer| buffer.role.is_persistent()) {
        let name = &graph.value(buffer.values[0]).name;
        buffer.offset = match residents.offsets.get(name) {
            Some(&offset) => offset,
            None => stack.take(buffer.bytes),
        };
    }
    stack.end()
}

/// Places everything that lives within a step above `base`.
fn place_transient(buffers: &mut [Buffer], base: Offset, target: &Target) {
    let mut transient: Vec<&mut Buffer> =
        buffers.iter_mut().filter(|buffer| !buffer.role.is_persistent()).collect();
    let intervals: Vec<Interval> = transient.iter().map(|buffer| interval(buffer)).collect();
    let rules = target.page.map(|size| PageRules { size, alignment: target.alignment });
    // What is larger than a page has no place in pages; the proof will say so.
    let in_pages = rules.and_then(|rules| place_above(&intervals, rules, base).ok());
    let offsets = in_pages.unwrap_or_else(|| {
        place(&intervals).offsets.into_iter().map(|offset| base + offset.distance()).collect()
    });
    transient.iter_mut().zip(offsets).for_each(|(buffer, offset)| buffer.offset = offset);
}

fn interval(buffer: &Buffer) -> Interval {
    Interval { live: buffer.live.clone(), bytes: buffer.bytes }
}

impl Plan {
    /// The buffer that holds a value.
    pub fn buffer_of(&self, value: ValueId) -> Option<&Buffer> {
        self.storage[value.index()].map(|id| self.buffer(id))
    }

    /// One buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }

    /// The places of the persistent values, for another plan beside this one.
    pub fn residents(&self, graph: &Graph) -> Residents {
        let place = |id: ValueId| {
            let buffer = self.buffer_of(id).expect("a persistent value has a buffer");
            (graph.value(id).name.clone(), buffer.offset)
        };
        Residents { offsets: graph.persistents().map(place).collect(), end: Offset::START + self.persistent }
    }

    /// The most bytes live at once, counting every persistent value of the arena, also those that only other plans use.
    pub fn arena_floor(&self) -> Bytes {
        let own: Bytes = self.buffers.iter().filter(|b| b.role.is_persistent()).map(|b| b.bytes).sum();
        self.persistent + self.floor.saturating_sub(own)
    }

    /// What the layout takes beyond what is live.
    pub fn fragmentation(&self) -> Bytes {
        self.peak.saturating_sub(self.floor)
    }
}

impl Buffer {
    /// Where it ends.
    pub fn end(&self) -> Offset {
        self.offset + self.bytes
    }
}
