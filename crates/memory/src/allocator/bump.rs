//! The plainest baseline: every block begins where the last live one ends. What is freed below that is lost until it is
//! free too.

use super::heap::Heap;
use super::{Address, Allocator, Block, FreeError, Refusal, Regions, Statistics};
use plimsoll_trace::{Bytes, LabelId};

/// Blocks one after another.
#[derive(Clone, Debug)]
pub struct Bump {
    heap: Heap,
}

impl Default for Bump {
    fn default() -> Self {
        Self { heap: Heap::new() }
    }
}

impl Allocator for Bump {
    fn name(&self) -> &'static str {
        "bump"
    }

    fn take(&mut self, bytes: Bytes, label: LabelId, regions: &mut dyn Regions) -> Result<Block, Refusal> {
        let heap = &mut self.heap;
        let found = Heap::rounded(bytes).and_then(|size| {
            let index = heap.top(size, regions)?;
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
