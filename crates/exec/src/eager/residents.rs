//! Blocks that live across steps, found by name: graphs of the same model at other batch sizes or lengths share them.

use super::pool::{Held, Pool};
use plimsoll_graph::TensorType;
use plimsoll_memory::Refusal;
use plimsoll_plan::bytes_of;
use plimsoll_trace::{Label, LabelId};
use std::collections::HashMap;

/// The persistent values of all graphs of an eager executor.
#[derive(Default)]
pub(crate) struct Residents {
    positions: HashMap<String, usize>,
    blocks: Vec<(Held, TensorType)>,
}

impl Residents {
    /// Takes a block of zeros for a value, unless one of its name is already there.
    ///
    /// # Panics
    /// If one of that name but another type is there: the graphs are not of the same model.
    pub(crate) fn add(
        &mut self,
        tensor: &TensorType,
        label: Label,
        pool: &mut Pool,
    ) -> Result<(), (Refusal, LabelId)> {
        if let Some(&position) = self.positions.get(&label.value) {
            assert_eq!(self.blocks[position].1, *tensor, "`{}` changes its type", label.value);
            return Ok(());
        }
        let name = label.value.clone();
        let label = pool.add_label(label);
        let held = pool.take(bytes_of(tensor), label).map_err(|refusal| (refusal, label))?;
        pool.bytes_mut(held).fill(0);
        self.positions.insert(name, self.blocks.len());
        self.blocks.push((held, tensor.clone()));
        Ok(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Frees those that were added after there were so many.
    pub(crate) fn shorten(&mut self, count: usize, pool: &mut Pool) {
        for (held, _) in self.blocks.drain(count..) {
            pool.free(held);
        }
        self.positions.retain(|_, position| *position < count);
    }

    /// The position of a value that is there.
    pub(crate) fn find(&self, name: &str) -> usize {
        self.positions[name]
    }

    /// One block.
    pub(crate) fn held(&self, position: usize) -> Held {
        self.blocks[position].0
    }

    /// All blocks, in the order in which they were taken.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Held> + '_ {
        self.blocks.iter().map(|(held, _)| *held)
    }

    /// All blocks, to be moved.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Held> + '_ {
        self.blocks.iter_mut().map(|(held, _)| held)
    }
}
