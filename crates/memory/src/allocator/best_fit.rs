//! The plain baseline: best fit on one growing heap. Every block is cut to its size, every free neighbour joined.

use super::heap::Heap;
use super::{Address, Allocator, Block, FreeError, Refusal, Regions, Statistics};
use plimsoll_trace::{Bytes, LabelId};

/// Best fit without further rules.
#[derive(Clone, Debug)]
pub struct BestFit {
    heap: Heap,
}

impl Default for BestFit {
    fn default() -> Self {
        Self { heap: Heap::new() }
    }
}

impl Allocator for BestFit {
    fn name(&self) -> &'static str {
        "best-fit"
    }

    fn take(&mut self, bytes: Bytes, label: LabelId, regions: &mut dyn Regions) -> Result<Block, Refusal> {
        let heap = &mut self.heap;
        let found = Heap::rounded(bytes).and_then(|size| {
            let index = heap.chunks.best_fit(0, size).or_else(|| heap.top(size, regions))?;
            Some(heap.take(index, size, label))
        });
        found.ok_or_else(|| Refusal { requested: bytes, largest_free: self.statistics().largest_free })
    }

    fn free(&mut self, address: Address, _: &mut dyn Regions) -> Result<(), FreeError> {
        self.heap.free(address)
    }

    fn statistics(&self) -> Statistics {
        self.heap.statistics()
    }

    fn blocks(&self) -> Box<dyn Iterator<Item = (Block, Option<LabelId>)> + '_> {
        self.heap.chunks.blocks()
    }
}
