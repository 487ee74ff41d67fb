//! Compaction: moves the live blocks of an eager device together and gives the regions they leave behind back.
//!
//! Method: the contents of all live blocks are copied out, every region is given back, and a fresh allocator gives the
//! blocks again, in the order of their old addresses. It needs no free memory on the device at all, but room for all
//! live blocks outside of it for as long as it takes. Whether the fresh allocator has place for everybody is tried in a
//! simulation first; if it has not, nothing is moved.

use super::{Eager, Held, Pool, StepError};
use plimsoll_memory::{Refusal, Simulated};
use plimsoll_trace::{Bytes, LabelId};

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction {
    /// How many blocks were moved.
    pub blocks: usize,
    /// How many bytes they have; so many were needed outside the device.
    pub moved: Bytes,
    /// What the regions had before.
    pub reserved_before: Bytes,
    /// What they have now.
    pub reserved_after: Bytes,
    /// The share of the free bytes that was not in the largest free block before.
    pub fragmentation_before: f64,
    /// The same now.
    pub fragmentation_after: f64,
}

impl Eager {
    /// Moves all live blocks together. Between steps these are the persistent ones and the last outputs. `None` if the
    /// allocator would not have place for them in a fresh start, and everything is as it was.
    pub fn compact(&mut self) -> Result<Option<Compaction>, StepError> {
        let before = self.pool.statistics();
        let transient = self.scripts.iter_mut().flat_map(|script| script.blocks.iter_mut().flatten());
        let mut held: Vec<&mut Held> = self.residents.iter_mut().chain(transient).collect();
        held.sort_unstable_by_key(|held| held.block.address);
        if !would_fit(&self.pool, &held) {
            return Ok(None);
        }
        let contents = copy_out(&mut self.pool, &held);
        self.pool.renew();
        for (held, contents) in held.iter_mut().zip(&contents) {
            match self.pool.take(held.requested, held.label) {
                Ok(moved) => **held = moved,
                Err(refusal) => {
                    // Somebody else took the device's memory between the simulation and now.
                    let label = held.label;
                    return Err(self.lose(refusal, label));
                }
            }
            self.pool.bytes_mut(**held).copy_from_slice(contents);
        }
        let after = self.pool.statistics();
        Ok(Some(Compaction {
            blocks: contents.len(),
            moved: held.iter().map(|held| held.requested).sum(),
            reserved_before: before.reserved,
            reserved_after: after.reserved,
            fragmentation_before: before.fragmentation(),
            fragmentation_after: after.fragmentation(),
        }))
    }

    /// Remembers that contents are gone, so that nothing runs on what is left.
    fn lose(&mut self, refusal: Refusal, label: LabelId) -> StepError {
        let error = self.shortage(refusal, label);
        if let StepError::OutOfMemory(shortage) = &error {
            self.lost = Some(shortage.clone());
        }
        error
    }
}

/// Asks a fresh allocator for the same blocks in regions that are only counted.
fn would_fit(pool: &Pool, held: &[&mut Held]) -> bool {
    let mut regions = Simulated::in_one_piece(pool.limit());
    let mut allocator = pool.another_allocator();
    held.iter().all(|held| allocator.take(held.requested, held.label, &mut regions).is_ok())
}

fn copy_out(pool: &mut Pool, held: &[&mut Held]) -> Vec<Vec<u8>> {
    let copy = |held: &&mut Held| {
        let contents = pool.bytes(**held).to_vec();
        pool.free(**held);
        contents
    };
    held.iter().map(copy).collect()
}
