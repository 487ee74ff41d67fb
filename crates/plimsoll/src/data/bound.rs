//! Samples whose fields are known to be what a graph is written with.

use super::{DataError, Elements, Field, FieldKind, Samples, Slot, Wanted};
use plimsoll_graph::Shape;
use plimsoll_train::Loss;
use std::ops::Range;
use std::sync::Arc;

/// Samples whose fields are known to be what a trainer writes; made by its `bind`.
#[derive(Clone)]
pub struct Bound<'a> {
    samples: &'a dyn Samples,
    wanted: Arc<Wanted>,
    /// For each slot, its field; nothing for weights that are all 1.
    fields: Vec<Option<usize>>,
}

impl<'a> Bound<'a> {
    /// Finds a field for each slot: the one of its name, or the only one of its kind where only one is wanted.
    pub(super) fn new(wanted: &Arc<Wanted>, samples: &'a dyn Samples) -> Result<Self, DataError> {
        if samples.count() == 0 {
            return Err(DataError::Empty);
        }
        let given = samples.fields();
        let fields = wanted.slots.iter().map(|slot| find(slot, wanted, given)).collect::<Result<_, _>>()?;
        let bound = Self { samples, wanted: wanted.clone(), fields };
        match bound.idle_weight() {
            Some(field) => Err(DataError::IdleWeights { output: field.name.clone() }),
            None => Ok(bound),
        }
    }

    /// How many samples there are.
    pub fn count(&self) -> usize {
        self.samples.count()
    }

    /// Says which samples will be wanted; see [`Samples::announce`].
    pub(crate) fn announce(&self, seed: Option<u64>, positions: Range<u64>) {
        self.samples.announce(seed, positions);
    }

    /// Makes samples ready to be written; see [`Samples::ready`].
    pub(crate) fn ready(&self, position: u64, samples: &[usize]) -> Result<(), DataError> {
        Ok(self.samples.ready(position, samples)?)
    }

    /// Ends reading ahead.
    pub(crate) fn rest(&self) {
        self.samples.rest();
    }

    /// Checks a batch: so many samples as were planned, all of which exist.
    pub(crate) fn check(
        &self,
        wanted: &Arc<Wanted>,
        batch: usize,
        samples: &[usize],
    ) -> Result<(), DataError> {
        if !Arc::ptr_eq(wanted, &self.wanted) {
            return Err(DataError::OtherTrainer);
        }
        if samples.len() != batch {
            return Err(DataError::BatchSize { planned: batch, given: samples.len() });
        }
        let count = self.count();
        match samples.iter().find(|&&sample| sample >= count) {
            Some(&sample) => Err(DataError::NoSuchSample { sample, count }),
            None => Ok(()),
        }
    }

    /// Writes what a slot wants of a sample.
    pub(crate) fn write(&self, slot: usize, sample: usize, into: Elements<'_>) {
        match (self.fields[slot], into) {
            (Some(field), Elements::I32(into)) => {
                let given = self.samples.fields()[field].shape.as_ref();
                let given = given.map_or(into.len(), |shape| shape.elements().min(into.len()));
                let (labels, rest) = into.split_at_mut(given);
                self.samples.write(field, sample, Elements::I32(labels));
                rest.fill(0);
            }
            (Some(field), into) => self.samples.write(field, sample, into),
            (None, Elements::F32(into)) => into.fill(1.0),
            (None, Elements::I32(_)) => unreachable!("weights are float32"),
        }
    }

    /// Weights that nobody reads: the data says that samples differ, and the objective that they do not.
    fn idle_weight(&self) -> Option<&Field> {
        let given = self.samples.fields().iter().enumerate();
        let mut weights = given.filter(|(_, field)| field.kind == FieldKind::SampleWeight);
        weights.find(|(position, _)| !self.fields.contains(&Some(*position))).map(|(_, field)| field)
    }
}

fn find(slot: &Slot, wanted: &Wanted, fields: &[Field]) -> Result<Option<usize>, DataError> {
    let of_kind = || fields.iter().enumerate().filter(|(_, field)| field.kind == slot.kind);
    let is_alone =
        wanted.slots.iter().filter(|other| other.kind == slot.kind).count() == 1 && of_kind().count() == 1;
    let found = of_kind().find(|(_, field)| is_alone || field.name == slot.name);
    match found {
        Some((position, field)) if field.is(&slot.tensor) || is_shorter(slot, field) => Ok(Some(position)),
        Some((_, field)) => {
            Err(DataError::WrongType { field: field.to_string(), wanted: slot.tensor.clone() })
        }
        None if slot.optional => Ok(None),
        None => {
            let wanted = Field::new(slot.kind, slot.name.clone(), slot.tensor.clone());
            let fields = fields.iter().map(Field::to_string).collect();
            Err(DataError::Missing { wanted: wanted.to_string(), fields })
        }
    }
}

/// Whether a field has fewer labels than could be, and the loss takes what is missing for none.
fn is_shorter(slot: &Slot, field: &Field) -> bool {
    let fills_up = slot.kind == FieldKind::Target && slot.loss.is_some_and(Loss::fills_targets_up);
    let fewer = |shape: &Shape| shape.rank() == 1 && shape.elements() < slot.tensor.shape.elements();
    fills_up && field.element == slot.tensor.element && field.shape.as_ref().is_some_and(fewer)
}
