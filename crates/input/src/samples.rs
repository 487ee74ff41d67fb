//! Samples as whoever works on them sees them.

use crate::{Elements, Field, InputError, Rates, order};
use std::ops::Range;

/// Samples that are written straight to where they are needed.
pub trait Samples {
    /// How many there are.
    fn count(&self) -> usize;

    /// What each sample has.
    fn fields(&self) -> &[Field];

    /// Writes one field of one sample: as many elements as the field has, of its type. Where samples have to be made
    /// ready, it is one of those of the last [`ready`](Self::ready).
    fn write(&self, field: usize, sample: usize, into: Elements<'_>);

    /// Says which samples will be wanted in which order, so that they can be read ahead: the ones at some positions of
    /// the shuffle of a seed, or where there is none, of the samples as they stand.
    fn announce(&self, _seed: Option<u64>, _positions: Range<u64>) {}

    /// Makes samples ready to be written, or says which cannot be. They are those at a position and the ones after it.
    fn ready(&self, _position: u64, _samples: &[usize]) -> Result<(), InputError> {
        Ok(())
    }

    /// Ends reading ahead, and gives back the memory that it took.
    fn rest(&self) {}

    /// How fast samples were read, where they are read ahead.
    fn rates(&self) -> Option<Rates> {
        None
    }
}

impl Samples for Box<dyn Samples> {
    fn count(&self) -> usize {
        (**self).count()
    }

    fn fields(&self) -> &[Field] {
        (**self).fields()
    }

    fn write(&self, field: usize, sample: usize, into: Elements<'_>) {
        (**self).write(field, sample, into);
    }

    fn announce(&self, seed: Option<u64>, positions: Range<u64>) {
        (**self).announce(seed, positions);
    }

    fn ready(&self, position: u64, samples: &[usize]) -> Result<(), InputError> {
        (**self).ready(position, samples)
    }

    fn rest(&self) {
        (**self).rest();
    }

    fn rates(&self) -> Option<Rates> {
        (**self).rates()
    }
}

/// A sample as it is drawn: what is random about it depends on how often it was drawn before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) sample: usize,
    /// The seed, and how often all samples were drawn before; nothing where samples are taken as they stand.
    pub(crate) turn: Option<(u64, u64)>,
}

impl Drawn {
    /// The sample at a position of the shuffle of a seed, or without one, of the samples as they stand.
    pub(crate) fn at(seed: Option<u64>, position: u64, count: usize) -> Self {
        match seed {
            Some(seed) => Self {
                sample: order::sample(seed, position, count),
                turn: Some((seed, position / count as u64)),
            },
            None => Self { sample: (position % count as u64) as usize, turn: None },
        }
    }
}
