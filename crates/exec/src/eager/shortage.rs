//! Out of memory on an eager device, with everything one needs to understand it.

use super::Pool;
use super::pool::Held;
use plimsoll_memory::Refusal;
use plimsoll_trace::evidence::{self, Evidence, Holder, RefusedBy};
use plimsoll_trace::{Bytes, Label, LabelId};
use std::collections::HashMap;

/// A block that the allocator could not give.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{device} is out of memory: {} asked for {requested}, {}", self.label.words(), self.reason())]
pub struct Shortage {
    /// The device's name.
    pub device: String,
    /// The allocator's name.
    pub allocator: &'static str,
    /// Who asked: value, role, layer and op.
    pub label: Label,
    /// For how much.
    pub requested: Bytes,
    /// What the pool may have in all.
    pub limit: Bytes,
    /// What its regions have.
    pub reserved: Bytes,
    /// What live blocks have.
    pub in_use: Bytes,
    /// The largest block that could be had: inside a region, or as a new one.
    pub largest_free: Bytes,
    /// The share of the regions' free bytes that is not in their largest free block.
    pub fragmentation: f64,
    /// Who holds what, largest first; blocks of the same label are one entry.
    pub holders: Vec<(Label, Bytes)>,
}

impl Shortage {
    /// What a refusal means, and who is in the way.
    pub(crate) fn new(
        pool: &Pool,
        refusal: Refusal,
        label: LabelId,
        held: impl Iterator<Item = Held>,
    ) -> Self {
        let statistics = pool.statistics();
        let unreserved = pool.limit().saturating_sub(statistics.reserved);
        Self {
            device: pool.device().name().to_string(),
            allocator: pool.allocator(),
            label: pool.trace().label(label).clone(),
            requested: refusal.requested,
            limit: pool.limit(),
            reserved: statistics.reserved,
            in_use: statistics.in_use,
            largest_free: refusal.largest_free.max(unreserved),
            fragmentation: statistics.fragmentation(),
            holders: holders(pool, held),
        }
    }

    /// What is not in live blocks: free inside the regions, or not reserved yet.
    pub fn free(&self) -> Bytes {
        self.limit.saturating_sub(self.in_use)
    }

    /// Whether enough is free in all, but not in one piece.
    pub fn is_fragmentation(&self) -> bool {
        self.requested <= self.free()
    }

    /// The largest holders, and how many others there are with how much.
    pub fn largest(&self, count: usize) -> (&[(Label, Bytes)], usize, Bytes) {
        let (largest, others) = self.holders.split_at(count.min(self.holders.len()));
        (largest, others.len(), others.iter().map(|(_, bytes)| *bytes).sum())
    }

    /// As the document that failures and logs carry.
    pub fn evidence(&self) -> Evidence {
        let Self { reserved, in_use, largest_free, .. } = *self;
        let holder = |(label, bytes): &(Label, Bytes)| Holder { label: label.clone(), bytes: *bytes };
        Evidence {
            version: evidence::VERSION,
            step: None,
            device: Some(self.device.clone()),
            asked_by: self.label.clone(),
            requested: self.requested,
            limit: self.limit,
            refused_by: RefusedBy::Allocator {
                name: self.allocator.to_string(),
                reserved,
                in_use,
                largest_free,
            },
            holders: self.holders.iter().map(holder).collect(),
        }
    }

    /// What would help, in a sentence.
    pub fn hint(&self) -> String {
        match self.is_fragmentation() {
            true => "the memory is there but in pieces: any of these is enough: one region instead of many, moving blocks \
                     together between steps, a planned layout"
                .to_string(),
            false => format!(
                "any of these helps: {} more memory, a smaller batch, a planned step (it shares storage and frees gradients early)",
                self.requested.saturating_sub(self.free())
            ),
        }
    }

    fn reason(&self) -> String {
        let (free, limit, largest) = (self.free(), self.limit, self.largest_free);
        match self.is_fragmentation() {
            true => format!("and of its {limit} {free} are free, but the largest piece has only {largest}"),
            false => format!("but of its {limit} only {free} are free"),
        }
    }
}

fn holders(pool: &Pool, held: impl Iterator<Item = Held>) -> Vec<(Label, Bytes)> {
    let mut by_label: HashMap<LabelId, Bytes> = HashMap::new();
    held.for_each(|held| *by_label.entry(held.label).or_default() += held.block.bytes);
    let mut holders: Vec<(LabelId, Bytes)> = by_label.into_iter().collect();
    holders.sort_unstable_by_key(|&(label, bytes)| (std::cmp::Reverse(bytes), label));
    holders.into_iter().map(|(label, bytes)| (pool.trace().label(label).clone(), bytes)).collect()
}
