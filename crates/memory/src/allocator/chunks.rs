//! Regions cut into chunks: the book-keeping that allocators share. Which chunk to take is theirs to decide.
//!
//! Equations:
//! - the chunks of a region, in the order of their links, touch each other and cover it.
//! - no two neighbours are both free, or both without memory.
//! - the free sets hold exactly the chunks that are not live.

use super::free_set::{FreeSet, Key};
use super::{Address, Block, FreeError, RegionId, Regions, Statistics};
use plimsoll_trace::{Bytes, LabelId, Offset};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// No neighbour.
pub(super) const NONE: u32 = u32::MAX;

/// Whether a chunk can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Live,
    Free,
    /// Addresses with no memory behind them.
    Unmapped,
}

/// A part of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) address: Address,
    pub(super) bytes: u64,
    pub(super) previous: u32,
    pub(super) next: u32,
    pub(super) state: State,
    /// The pool it belongs to as long as its region exists.
    pub(super) pool: u8,
    /// Where its region begins.
    base: u64,
    label: LabelId,
    /// The clock when it was last put into a free set.
    pub(super) since: u32,
}

/// Regions cut into chunks, in pools.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    chunks: Vec<Chunk>,
    /// Places in `chunks` to use again.
    vacant: Vec<u32>,
    /// For each pool, what is free.
    free: Vec<FreeSet>,
    /// For each pool, what has no memory behind it, by address alone.
    unmapped: Vec<FreeSet>,
    live: HashMap<Address, u32, BuildHasherDefault<Mix>>,
    statistics: Statistics,
    /// Counts whatever its owner counts; chunks note when they became free.
    pub(super) clock: u32,
}

impl Chunk {
    /// Whether it is all of its region.
    pub(super) fn is_whole_region(&self) -> bool {
        self.previous == NONE && self.next == NONE
    }

    fn key(&self, index: u32) -> Key {
        let bytes = if self.state == State::Unmapped { 0 } else { self.bytes };
        (bytes, self.base.saturating_add(self.address.offset.0), index)
    }
}

impl Chunks {
    pub(super) fn new(pools: usize) -> Self {
        Self {
            chunks: Vec::new(),
            vacant: Vec::new(),
            free: vec![FreeSet::default(); pools],
            unmapped: vec![FreeSet::default(); pools],
            live: HashMap::default(),
            statistics: Statistics::default(),
            clock: 0,
        }
    }

    pub(super) fn get(&self, index: u32) -> &Chunk {
        &self.chunks[index as usize]
    }

    /// What is free in a pool.
    pub(super) fn free_in(&self, pool: u8) -> &FreeSet {
        &self.free[usize::from(pool)]
    }

    /// What has no memory in a pool, from low addresses to high ones.
    pub(super) fn unmapped_in(&self, pool: u8) -> impl Iterator<Item = u32> + '_ {
        self.unmapped[usize::from(pool)].from(0).map(|key| key.2)
    }

    /// The smallest free chunk of a pool that has so many bytes; the lowest of those.
    pub(super) fn best_fit(&self, pool: u8, bytes: u64) -> Option<u32> {
        self.free_in(pool).at_least(bytes).map(|key| key.2)
    }

    /// Adds a region as one chunk.
    pub(super) fn add_region(
        &mut self,
        region: RegionId,
        bytes: u64,
        pool: u8,
        state: State,
        regions: &dyn Regions,
    ) -> u32 {
        let address = Address { region, offset: Offset::START };
        let base = regions.base(region);
        let (previous, next, label, since) = (NONE, NONE, LabelId(0), 0);
        let index = self.add(Chunk { address, bytes, previous, next, state, pool, base, label, since });
        self.enter(index);
        self.statistics.note_reserved(regions.reserved());
        index
    }

    /// Makes regions with blocks that are live in them, as a log or a dump shows them: of each region its size and its
    /// pool; the region of a block is the number of its size. None where a size is refused, or a block lies outside its
    /// region or on another.
    pub(super) fn resume(
        &mut self,
        sizes: &[(u64, u8)],
        live: &[(Block, LabelId)],
        regions: &mut dyn Regions,
    ) -> Option<()> {
        let mut live = live.to_vec();
        live.sort_unstable_by_key(|(block, _)| block.address);
        let mut blocks = live.into_iter().peekable();
        for (number, &(size, pool)) in sizes.iter().enumerate() {
            let region = regions.reserve(Bytes(size))?;
            let mut rest = Some(self.add_region(region, size, pool, State::Free, regions));
            while let Some((block, label)) =
                blocks.next_if(|(block, _)| block.address.region.0 as usize == number)
            {
                rest = self.carve(rest?, block, label)?;
            }
        }
        blocks.next().is_none().then_some(())
    }

    /// Makes a block live inside a free chunk; gives what is left of the chunk after it.
    fn carve(&mut self, chunk: u32, block: Block, label: LabelId) -> Option<Option<u32>> {
        let Chunk { address, bytes, .. } = *self.get(chunk);
        let before = block.address.offset.0.checked_sub(address.offset.0)?;
        let after = bytes.checked_sub(before)?.checked_sub(block.bytes.0)?;
        let index = if before > 0 && before < bytes { self.split(chunk, before) } else { chunk };
        self.take(index, (after > 0).then_some(block.bytes.0), label);
        Some((after > 0).then(|| self.get(index).next))
    }

    /// Forgets a region that is one chunk, and releases it.
    pub(super) fn release_region(&mut self, index: u32, regions: &mut dyn Regions) {
        let chunk = *self.get(index);
        debug_assert!(chunk.is_whole_region() && chunk.state != State::Live);
        self.leave(index);
        self.vacant.push(index);
        regions.release(chunk.address.region);
        self.statistics.note_reserved(regions.reserved());
    }

    /// Makes the first bytes of a chunk that is not live, or all of it, a live block.
    pub(super) fn take(&mut self, index: u32, keep: Option<u64>, label: LabelId) -> Block {
        self.leave(index);
        if let Some(bytes) = keep {
            let rest = self.cut(index, bytes);
            self.enter(rest);
        }
        let chunk = &mut self.chunks[index as usize];
        chunk.state = State::Live;
        chunk.label = label;
        let block = Block { address: chunk.address, bytes: Bytes(chunk.bytes) };
        self.live.insert(block.address, index);
        self.statistics.note_take(block.bytes);
        block
    }

    /// Makes a live block free, joined with its neighbours; gives the joined chunk.
    pub(super) fn free(&mut self, address: Address) -> Result<u32, FreeError> {
        let index = self.live.remove(&address).ok_or(FreeError { address })?;
        self.statistics.note_free(Bytes(self.get(index).bytes));
        Ok(self.settle(index, State::Free))
    }

    /// Cuts a chunk that is not live in two; gives the second.
    pub(super) fn split(&mut self, index: u32, bytes: u64) -> u32 {
        self.leave(index);
        let rest = self.cut(index, bytes);
        self.enter(index);
        self.enter(rest);
        rest
    }

    /// Changes whether a chunk that is not live has memory, and joins it with its neighbours; gives the joined chunk.
    pub(super) fn change(&mut self, index: u32, state: State, regions: &dyn Regions) -> u32 {
        self.leave(index);
        self.statistics.note_reserved(regions.reserved());
        self.settle(index, state)
    }

    pub(super) fn statistics(&self) -> Statistics {
        let largest_free = Bytes(self.free.iter().map(FreeSet::largest).max().unwrap_or(0));
        Statistics { largest_free, ..self.statistics }
    }

    /// Every chunk with memory, in no particular order, with the label of those that are live.
    pub(super) fn blocks(&self) -> Box<dyn Iterator<Item = (Block, Option<LabelId>)> + '_> {
        let block =
            |index: u32| Block { address: self.get(index).address, bytes: Bytes(self.get(index).bytes) };
        let live = self.live.values().map(move |&index| (block(index), Some(self.get(index).label)));
        let free = self.free.iter().flat_map(|set| set.from(0)).map(move |key| (block(key.2), None));
        Box::new(live.chain(free))
    }

    /// Gives a chunk that is in no set a state, joins it with neighbours of the same, and puts it into the set.
    fn settle(&mut self, index: u32, state: State) -> u32 {
        let Chunk { previous, next, .. } = *self.get(index);
        self.chunks[index as usize].state = state;
        if next != NONE && self.get(next).state == state {
            self.leave(next);
            self.join(index, next);
        }
        let mut joined = index;
        if previous != NONE && self.get(previous).state == state {
            self.leave(previous);
            self.join(previous, index);
            joined = previous;
        }
        self.enter(joined);
        joined
    }

    /// Lets a chunk take in the one after it.
    fn join(&mut self, first: u32, second: u32) {
        let Chunk { bytes, next, .. } = *self.get(second);
        self.chunks[first as usize].bytes += bytes;
        self.chunks[first as usize].next = next;
        if next != NONE {
            self.chunks[next as usize].previous = first;
        }
        self.vacant.push(second);
    }

    /// Cuts what lies beyond so many bytes off a chunk, in the same state.
    fn cut(&mut self, index: u32, bytes: u64) -> u32 {
        let chunk = *self.get(index);
        let address = Address { offset: chunk.address.offset + Bytes(bytes), ..chunk.address };
        let rest = self.add(Chunk { address, bytes: chunk.bytes - bytes, previous: index, ..chunk });
        if chunk.next != NONE {
            self.chunks[chunk.next as usize].previous = rest;
        }
        self.chunks[index as usize].bytes = bytes;
        self.chunks[index as usize].next = rest;
        rest
    }

    fn add(&mut self, chunk: Chunk) -> u32 {
        match self.vacant.pop() {
            Some(index) => {
                self.chunks[index as usize] = chunk;
                index
            }
            None => {
                self.chunks.push(chunk);
                self.chunks.len() as u32 - 1
            }
        }
    }

    fn enter(&mut self, index: u32) {
        self.chunks[index as usize].since = self.clock;
        let chunk = self.chunks[index as usize];
        self.set_of(&chunk).insert(chunk.key(index));
    }

    fn leave(&mut self, index: u32) {
        let chunk = self.chunks[index as usize];
        self.set_of(&chunk).remove(chunk.key(index));
    }

    fn set_of(&mut self, chunk: &Chunk) -> &mut FreeSet {
        let sets = if chunk.state == State::Unmapped { &mut self.unmapped } else { &mut self.free };
        &mut sets[usize::from(chunk.pool)]
    }
}

/// A hash for addresses: their bits are well spread by one multiplication, and nobody attacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // Offsets end in zeros, so the low bits of the product say nothing and the high ones everything.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
