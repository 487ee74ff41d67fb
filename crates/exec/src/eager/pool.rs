//! The memory of an eager device: an allocator, the regions it decides over, and what is written down about both.
//!
//! Blocks are recorded at one offset each: `region << 40 | offset inside the region`, since no region has a tebibyte. A block's end is
//! therefore not a peak; what was in use and what was reserved at most stands in [`Pool::statistics`].

use plimsoll_memory::{Address, Allocator, Block, Device, HostRegions, Refusal, RegionId, Statistics};
use plimsoll_trace::{Alignment, BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace};

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
    /// The figures of the allocators that compactions have replaced.
    earlier: Statistics,
    worst_fragmentation: f64,
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
            earlier: Statistics::default(),
            worst_fragmentation: 0.0,
        }
    }

    /// Whether events are recorded, and whether freed blocks are overwritten with NaNs.
    pub fn watch(&mut self, record: bool, poison: bool) {
        (self.record, self.poison) = (record, poison);
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

    /// Names somebody who will ask for blocks.
    pub fn add_label(&mut self, label: Label) -> LabelId {
        self.trace.add_label(label)
    }

    /// A block for somebody.
    pub fn take(&mut self, bytes: Bytes, label: LabelId) -> Result<Held, Refusal> {
        let block = self.allocator.take(bytes, label, &mut self.regions)?;
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
        }
    }

    /// Where a block is in host memory. Allocators are not ours alone, so what kernels rely on is checked: the whole block lies in its
    /// region, at a multiple of a cache line.
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
