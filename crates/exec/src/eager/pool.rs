//! The memory of an eager device: an allocator, the regions it decides over, and what is written down about both.
//!
//! Blocks are recorded at one offset each: `region << 40 | offset inside the region`, since no region has a tebibyte. A
//! block's end is therefore not a peak; what was in use and what was reserved at most stands in [`Pool::statistics`].
//! Regions are recorded in the same way.

use plimsoll_memory::{Address, Allocator, Block, Device, HostRegions, Refusal, RegionId, Statistics};
use plimsoll_trace::{Alignment, BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace, What};
use std::collections::BTreeMap;

/// Makes an allocator that holds nothing yet.
pub type MakeAllocator = Box<dyn Fn() -> Box<dyn Allocator> + Send>;

/// A block and the name it has in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where it is and how long.
    pub block: Block,
    /// How much of it was asked for.
    pub requested: Bytes,
    /// Who it is for.
    pub label: LabelId,
    id: BlockId,
}

/// An allocator with regions on a device.
pub struct Pool {
    device: Device,
    make: MakeAllocator,
    allocator: Box<dyn Allocator>,
    regions: HostRegions,
    trace: Trace,
    record: bool,
    poison: bool,
    now: Time,
    next: u32,
    recorded: RecordedRegions,
    /// The figures of the allocators that compactions have replaced.
    earlier: Statistics,
    worst_fragmentation: f64,
}

/// The regions that the trace knows.
#[derive(Default)]
struct RecordedRegions {
    list: BTreeMap<RegionId, Bytes>,
    /// How often they had changed then.
    changes: u64,
}

impl Pool {
    /// A pool without blocks.
    pub fn new(device: &Device, make: MakeAllocator) -> Self {
        Self {
            device: device.clone(),
            allocator: make(),
            make,
            regions: HostRegions::named(device, "the eager pool"),
            trace: Trace::default(),
            record: false,
            poison: false,
            now: Time(0),
            next: 0,
            recorded: RecordedRegions::default(),
            earlier: Statistics::default(),
            worst_fragmentation: 0.0,
        }
    }

    /// Whether events are recorded, and whether freed blocks are overwritten with NaNs.
    pub fn watch(&mut self, record: bool, poison: bool) {
        (self.record, self.poison) = (record, poison);
    }

    /// From now on events are recorded; what is held already counts as taken now.
    pub(crate) fn record(&mut self, held: &[Held]) {
        if !self.record {
            self.record = true;
            self.trace_regions();
            held.iter().for_each(|held| self.record_take(*held));
        }
    }

    /// From now on nothing is recorded, and what was is nobody's business any more.
    pub(crate) fn stop_recording(&mut self) {
        self.record = false;
        self.recorded = RecordedRegions::default();
    }

    /// The device the regions are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The allocator's name.
    pub fn allocator(&self) -> &'static str {
        self.allocator.name()
    }

    /// Another allocator of the same kind that holds nothing.
    pub(crate) fn another_allocator(&self) -> Box<dyn Allocator> {
        (self.make)()
    }

    /// What the regions may have together.
    pub fn limit(&self) -> Bytes {
        plimsoll_memory::Regions::limit(&self.regions)
    }

    /// How things stand; takes and peaks are those of the whole run.
    pub fn statistics(&self) -> Statistics {
        let now = self.allocator.statistics();
        Statistics {
            peak_in_use: now.peak_in_use.max(self.earlier.peak_in_use),
            peak_reserved: now.peak_reserved.max(self.earlier.peak_reserved),
            takes: now.takes + self.earlier.takes,
            ..now
        }
    }

    /// The largest share of the free bytes that was not in the largest free block, looked at after each op.
    pub fn worst_fragmentation(&self) -> f64 {
        self.worst_fragmentation
    }

    /// What happened so far, if it is recorded. The labels are there in any case.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The same, for whoever writes it down and takes it out.
    pub(crate) fn trace_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Names somebody who will ask for blocks.
    pub fn add_label(&mut self, label: Label) -> LabelId {
        self.trace.add_label(label)
    }

    /// A block for somebody.
    pub fn take(&mut self, bytes: Bytes, label: LabelId) -> Result<Held, Refusal> {
        let taken = self.allocator.take(bytes, label, &mut self.regions);
        if self.record {
            self.record_regions();
            if taken.is_err() {
                self.trace.mark(What::Refused { bytes, label });
            }
        }
        let block = taken?;
        self.next = self.next.wrapping_add(1);
        let held = Held { block, requested: bytes, label, id: BlockId(self.next) };
        if self.record {
            self.record_take(held);
        }
        Ok(held)
    }

    /// Gives a block back.
    ///
    /// # Panics
    /// If the allocator does not know it: it was freed before, which is a mistake of the caller.
    pub fn free(&mut self, held: Held) {
        if self.poison {
            self.regions.bytes_mut(held.block.address, held.block.bytes).fill(0xff);
        }
        let freed = self.allocator.free(held.block.address, &mut self.regions);
        freed.expect("a held block is live");
        if self.record {
            self.trace.events.push(Event::Free { time: self.now, block: held.id });
            self.record_regions();
        }
    }

    /// Where a block is in host memory. Allocators are not ours alone, so what kernels rely on is checked: the whole
    /// block lies in its region, at a multiple of a cache line.
    ///
    /// # Panics
    /// If an allocator gave a block that does not.
    pub(crate) fn pointer(&self, held: Held) -> *mut u8 {
        let start = self.regions.pointer(held.block.address);
        assert!(start.addr().is_multiple_of(Alignment::CACHE_LINE.bytes() as usize), "blocks are aligned");
        assert_eq!(self.bytes(held).as_ptr(), start.cast_const());
        start
    }

    /// What was written to a block; no more of it than was asked for.
    pub fn bytes(&self, held: Held) -> &[u8] {
        self.regions.bytes(held.block.address, held.requested)
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, held: Held) -> &mut [u8] {
        self.regions.bytes_mut(held.block.address, held.requested)
    }

    /// Gives a range of a region back to the system, in which nobody has a block any more.
    pub(crate) fn discard(&mut self, address: Address, bytes: Bytes) {
        self.regions.discard(address, bytes);
    }

    /// An op was run: looks at the fragmentation and moves the trace's time on.
    pub(crate) fn tick(&mut self) {
        self.worst_fragmentation = self.worst_fragmentation.max(self.allocator.statistics().fragmentation());
        self.now.0 += 1;
    }

    /// Gives all regions back and starts again with an allocator that holds nothing.
    ///
    /// # Panics
    /// If a block is still held.
    pub(crate) fn renew(&mut self) {
        assert_eq!(self.allocator.statistics().blocks, 0, "nobody may hold a block of regions that go");
        self.earlier = self.statistics();
        // The old regions must be gone before new ones can have their place.
        self.allocator = (self.make)();
        self.regions = HostRegions::named(&self.device, "the eager pool");
        if self.record {
            self.trace_regions();
        }
    }

    fn record_regions(&mut self) {
        if self.regions.changes() != self.recorded.changes {
            self.trace_regions();
        }
    }

    /// Marks what has changed since the last time.
    fn trace_regions(&mut self) {
        let now: BTreeMap<RegionId, Bytes> = self.regions.list().collect();
        let before = std::mem::replace(&mut self.recorded.list, now);
        self.recorded.changes = self.regions.changes();
        let now = &self.recorded.list;
        let gone = before.keys().filter(|id| !now.contains_key(id)).map(|id| (*id, Bytes::ZERO));
        let new =
            now.iter().filter(|(id, bytes)| before.get(id) != Some(*bytes)).map(|(id, bytes)| (*id, *bytes));
        for (region, bytes) in gone.chain(new) {
            let offset = folded(Address { region, offset: Offset::START });
            self.trace.mark(What::Region { offset, bytes });
        }
    }

    fn record_take(&mut self, held: Held) {
        let Held { block, label, id, .. } = held;
        let (time, offset) = (self.now, folded(block.address));
        self.trace.events.push(Event::Take { time, block: id, offset, bytes: block.bytes, label });
    }
}

/// The region and the offset inside it as one offset.
fn folded(address: Address) -> Offset {
    let RegionId(region) = address.region;
    Offset(u64::from(region & 0xff_ffff) << 40 | address.offset.0)
}
