//! Random samples of whatever a model takes: for measuring memory and time, not for learning.

use super::{Dataset, Elements, Samples, Wanted};
use plimsoll_exec::philox::Philox;

/// How many samples an epoch has.
const COUNT: usize = 256;

/// A data set that fits any model.
pub(super) fn open(wanted: &Wanted, seed: u64) -> Dataset {
    let samples = Synthetic { ids: wanted.ids, classes: wanted.classes, seed };
    Dataset { name: "synthetic", train: Box::new(samples), test: None }
}

/// Samples made from their number whenever they are asked for.
struct Synthetic {
    ids: usize,
    classes: usize,
    seed: u64,
}

impl Synthetic {
    /// Floats in [-1, 1), integers below a limit.
    fn write(&self, stream: u64, limit: usize, into: Elements<'_>) {
        let mut random = Philox::new(self.seed, stream);
        match into {
            Elements::F32(into) => into.iter_mut().for_each(|x| *x = 2.0 * random.next_unit() - 1.0),
            Elements::I32(into) => {
                into.iter_mut().for_each(|x| *x = (random.next_u32() as usize % limit) as i32)
            }
        }
    }
}

impl Samples for Synthetic {
    fn count(&self) -> usize {
        COUNT
    }

    fn write_input(&self, index: usize, into: Elements<'_>) {
        self.write(2 * index as u64, self.ids, into);
    }

    fn write_target(&self, index: usize, into: Elements<'_>) {
        self.write(2 * index as u64 + 1, self.classes, into);
    }
}
