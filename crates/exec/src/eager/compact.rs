//! Compaction: moves the live blocks of an eager device together and gives the regions they leave behind back.
//!
//! Method: the contents of all live blocks are moved out, every region is given back, and a fresh allocator gives the
//! blocks again, in the order of their old addresses. Contents wait outside the device, in memory that is taken as it
//! fills and goes back as it empties, while the pages they leave go back at once: at no time has the process more than
//! a piece beside what the regions had, or what is live. Whether the fresh allocator has place for everybody is tried
//! in a simulation first; if it has not, nothing is moved.

use super::{Eager, Held, Pool, StepError};
use plimsoll_memory::{Address, Arena, Device, Refusal, Simulated};
use plimsoll_trace::{Bytes, LabelId, Offset};

/// So many bytes are moved at a time.
const PIECE: u64 = 1 << 20;
/// Ranges that are given back begin at a multiple of this.
const PAGE: u64 = 4 << 10;

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction {
    /// How many blocks were moved.
    pub blocks: usize,
    /// How many bytes they have.
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
        let Some(mut waiting) = Waiting::room_for(&held) else { return Ok(None) };
        move_out(&mut self.pool, &held, &mut waiting);
        self.pool.renew();
        for held in &mut held {
            match self.pool.take(held.requested, held.label) {
                Ok(moved) => **held = moved,
                Err(refusal) => {
                    // Somebody else took the device's memory between the simulation and now.
                    let label = held.label;
                    return Err(self.lose(refusal, label));
                }
            }
            waiting.pop(self.pool.bytes_mut(**held));
        }
        let after = self.pool.statistics();
        Ok(Some(Compaction {
            blocks: held.len(),
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

/// Moves the contents of all blocks out and frees them, from the lowest address to the highest. What lies below the
/// last byte that was moved is of no use to anybody, so its pages go back.
fn move_out(pool: &mut Pool, held: &[&mut Held], waiting: &mut Waiting) {
    let Some(first) = held.first() else { return };
    let mut below = Address { offset: Offset::START, ..first.block.address };
    for held in held {
        let start = held.block.address;
        if start.region != below.region {
            below = Address { offset: Offset::START, ..start };
        }
        for from in (0..held.requested.0).step_by(PIECE as usize) {
            let end = held.requested.0.min(from + PIECE);
            waiting.push(&pool.bytes(**held)[from as usize..end as usize]);
            let bytes = Bytes((start.offset.0 + end).saturating_sub(below.offset.0));
            pool.discard(below, bytes);
            // The page that the next piece begins in stays.
            below.offset = Offset((below.offset.0 + bytes.0) / PAGE * PAGE);
        }
        pool.free(**held);
    }
}

/// Contents that wait outside the device: what came first goes first.
struct Waiting {
    arena: Arena,
    /// Where the next contents come to.
    end: Offset,
    /// Where the contents that wait begin.
    start: Offset,
}

impl Waiting {
    /// Room for the contents of all blocks, if the system has it.
    fn room_for(held: &[&mut Held]) -> Option<Self> {
        let bytes = held.iter().map(|held| held.requested).sum();
        let arena = Device::host(bytes).arena("contents that are moved", bytes, None).ok()?;
        Some(Self { arena, end: Offset::START, start: Offset::START })
    }

    fn push(&mut self, contents: &[u8]) {
        self.arena.write(self.end, contents);
        self.end = self.end + Bytes(contents.len() as u64);
    }

    fn pop(&mut self, into: &mut [u8]) {
        for piece in into.chunks_mut(PIECE as usize) {
            self.arena.read(self.start, piece);
            let bytes = Bytes(piece.len() as u64);
            let page = Offset(self.start.0 / PAGE * PAGE);
            self.start = self.start + bytes;
            self.arena.discard(page, Bytes(self.start.0 - page.0));
        }
    }
}
