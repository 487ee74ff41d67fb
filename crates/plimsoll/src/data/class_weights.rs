//! Class weights: samples count by the class they belong to, as with Keras's `class_weight`.

use super::{DataError, Elements, Field, FieldKind, Samples};
use plimsoll_graph::{ElementType, Shape, TensorType};
use plimsoll_input::{InputError, Rates};
use std::collections::BTreeMap;
use std::ops::Range;

/// Samples with a weight that follows from their class; a class that is not named counts once.
pub struct ClassWeights {
    samples: Box<dyn Samples>,
    fields: Vec<Field>,
    /// The target that says the class.
    target: usize,
    weights: BTreeMap<i32, f32>,
}

impl ClassWeights {
    /// Adds the weights to samples, for the output of that name.
    pub fn new(
        samples: Box<dyn Samples>,
        output: &str,
        weights: impl IntoIterator<Item = (i32, f32)>,
    ) -> Result<Self, DataError> {
        let weights: BTreeMap<i32, f32> = weights.into_iter().collect();
        if let Some((&class, weight)) = weights.iter().find(|(_, weight)| !weight.is_finite()) {
            return Err(DataError::ClassWeight { class, weight: weight.to_string() });
        }
        let mut fields = samples.fields().to_vec();
        let find = |kind| fields.iter().position(|field| (field.kind, field.name.as_str()) == (kind, output));
        let weight = Field::new(FieldKind::SampleWeight, output, TensorType::f32([]));
        if find(FieldKind::SampleWeight).is_some() {
            return Err(DataError::TwoFields { field: format!("sample weight `{output}`") });
        }
        let missing = || {
            let listed = fields.iter().map(Field::to_string).collect();
            DataError::Missing { wanted: format!("target `{output}`"), fields: listed }
        };
        let target = find(FieldKind::Target).ok_or_else(missing)?;
        if class_elements(&fields[target]).is_none() {
            return Err(DataError::NoClass { output: output.to_string(), found: fields[target].to_string() });
        }
        fields.push(weight);
        Ok(Self { samples, fields, target, weights })
    }

    /// The class of a sample: its number, its only element rounded, or its largest element.
    fn class(&self, sample: usize) -> i32 {
        let field = &self.fields[self.target];
        let count = class_elements(field).expect("it was looked at");
        if field.element == ElementType::I32 {
            let mut class = [0];
            self.samples.write(self.target, sample, Elements::I32(&mut class));
            return class[0];
        }
        let mut target = vec![0.0; count];
        self.samples.write(self.target, sample, Elements::F32(&mut target));
        match target[..] {
            // NumPy rounds halves to even numbers.
            [probability] => probability.round_ties_even() as i32,
            _ => crate::accuracy::first_largest(&target) as i32,
        }
    }
}

/// How many elements of a target say the class, if they do: one, or one for each class.
fn class_elements(field: &Field) -> Option<usize> {
    let extents = field.shape.as_ref().map(Shape::extents)?;
    match (field.element, extents) {
        (_, [] | [1]) => Some(1),
        (ElementType::F32, [classes]) => Some(*classes),
        _ => None,
    }
}

impl Samples for ClassWeights {
    fn count(&self) -> usize {
        self.samples.count()
    }

    fn announce(&self, seed: Option<u64>, positions: Range<u64>) {
        self.samples.announce(seed, positions);
    }

    fn ready(&self, position: u64, samples: &[usize]) -> Result<(), InputError> {
        self.samples.ready(position, samples)
    }

    fn rest(&self) {
        self.samples.rest();
    }

    fn rates(&self) -> Option<Rates> {
        self.samples.rates()
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn write(&self, field: usize, sample: usize, into: Elements<'_>) {
        if field + 1 < self.fields.len() {
            return self.samples.write(field, sample, into);
        }
        let Elements::F32(into) = into else { unreachable!("weights are float32") };
        into.fill(self.weights.get(&self.class(sample)).copied().unwrap_or(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::InMemory;

    fn weights(target: InMemory) -> Vec<f32> {
        let count = target.count();
        let weighted = ClassWeights::new(Box::new(target), "y", [(0, 3.0), (2, 0.5)]).unwrap();
        let position = weighted.fields().len() - 1;
        let weight = |sample| {
            let mut weight = [f32::NAN];
            weighted.write(position, sample, Elements::F32(&mut weight));
            weight[0]
        };
        (0..count).map(weight).collect()
    }

    #[test]
    fn samples_count_by_their_class_as_in_keras() {
        let numbers = InMemory::new().target("y", [], vec![0, 1, 2]).unwrap();
        assert_eq!(weights(numbers), [3.0, 1.0, 0.5]);
        let distributions = vec![0.1f32, 0.2, 0.7, 0.4, 0.4, 0.2];
        assert_eq!(weights(InMemory::new().target("y", [3], distributions).unwrap()), [0.5, 3.0]);
        let probabilities = vec![0.4f32, 0.5, 0.6, 1.5];
        assert_eq!(weights(InMemory::new().target("y", [1], probabilities).unwrap()), [3.0, 3.0, 1.0, 0.5]);
    }

    #[test]
    fn what_has_no_class_or_weights_already_is_refused() {
        let refused =
            |samples: InMemory| ClassWeights::new(Box::new(samples), "y", [(0, 2.0)]).err().unwrap();
        let pixels = InMemory::new().target("y", [2, 2], vec![1; 4]).unwrap();
        assert!(matches!(refused(pixels), DataError::NoClass { .. }));
        let weighted =
            InMemory::new().target("y", [], vec![1]).unwrap().sample_weight("y", vec![1.0]).unwrap();
        assert!(matches!(refused(weighted), DataError::TwoFields { .. }));
        let other = InMemory::new().target("z", [], vec![1]).unwrap();
        assert!(matches!(refused(other), DataError::Missing { .. }));
        let y = InMemory::new().target("y", [], vec![1]).unwrap();
        assert!(matches!(
            ClassWeights::new(Box::new(y), "y", [(0, f32::NAN)]).err().unwrap(),
            DataError::ClassWeight { .. }
        ));
    }
}
