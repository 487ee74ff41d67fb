//! Random samples of whatever a model takes: for measuring memory and time, not for learning.

use super::{Dataset, Elements, Field, FieldKind, Samples, Slot, Wanted};
use plimsoll_exec::philox::Philox;
use plimsoll_graph::op::Targets;

/// How many samples an epoch has, at least.
const COUNT: usize = 256;

/// A data set that fits any model.
pub(super) fn open(wanted: &Wanted, seed: u64) -> Dataset {
    // Models may be trained on several lengths, and these samples have any.
    let fields = wanted.fields().into_iter().map(|field| Field { shape: None, ..field }).collect();
    let (slots, count) = (wanted.slots.clone(), COUNT.max(wanted.batch));
    Dataset {
        name: "synthetic".to_string(),
        train: Box::new(Synthetic { slots, fields, count, seed }),
        test: None,
    }
}

/// Samples made from their number whenever they are asked for.
struct Synthetic {
    slots: Vec<Slot>,
    fields: Vec<Field>,
    count: usize,
    seed: u64,
}

impl Samples for Synthetic {
    fn count(&self) -> usize {
        self.count
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn write(&self, field: usize, sample: usize, into: Elements<'_>) {
        let mut random = Philox::new(self.seed, (self.fields.len() * sample + field) as u64);
        let slot = &self.slots[field];
        match into {
            Elements::F32(into) => {
                into.iter_mut().for_each(|x| *x = 2.0 * random.next_unit() - 1.0);
                fit(slot, into);
            }
            Elements::I32(into) => {
                into.iter_mut().for_each(|x| *x = (random.next_u32() as usize % slot.below) as i32);
            }
        }
    }
}

/// Makes numbers in [-1, 1) what a slot wants: distributions over classes, yes or no, weights around 1.
fn fit(slot: &Slot, numbers: &mut [f32]) {
    let targets = slot.loss.and_then(|loss| loss.cross_entropy()).map(|op| op.targets);
    match (slot.kind, targets) {
        (FieldKind::SampleWeight, _) => numbers.iter_mut().for_each(|x| *x = 1.0 + 0.5 * *x),
        (FieldKind::Target, Some(Targets::Categorical)) => {
            numbers.chunks_mut(slot.below).for_each(make_distribution);
        }
        (FieldKind::Target, Some(Targets::Binary)) => {
            numbers.iter_mut().for_each(|x| *x = f32::from(u8::from(*x >= 0.0)));
        }
        _ => {}
    }
}

fn make_distribution(numbers: &mut [f32]) {
    numbers.iter_mut().for_each(|x| *x += 1.5);
    let sum: f32 = numbers.iter().sum();
    numbers.iter_mut().for_each(|x| *x /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_graph::TensorType;
    use plimsoll_train::Loss;

    fn written(kind: FieldKind, loss: Option<&str>) -> Vec<f32> {
        let loss = loss.map(|loss| Loss::parse(loss).unwrap());
        let tensor = TensorType::f32([2, 3]);
        let slot = Slot { kind, name: "y".to_string(), tensor, below: 3, loss, optional: false };
        let data = open(&Wanted { slots: vec![slot], batch: 300 }, 7);
        assert_eq!(data.train.count(), 300, "a batch can be made of them");
        let mut numbers = vec![f32::NAN; 6];
        data.train.write(0, 11, Elements::F32(&mut numbers));
        numbers
    }

    #[test]
    fn targets_are_what_their_loss_compares() {
        for row in written(FieldKind::Target, Some("categorical_crossentropy")).chunks(3) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6 && row.iter().all(|x| *x > 0.0), "{row:?}");
        }
        let binary = written(FieldKind::Target, Some("binary_crossentropy"));
        assert!(binary.iter().all(|x| *x == 0.0 || *x == 1.0), "{binary:?}");
        assert!(written(FieldKind::SampleWeight, None).iter().all(|x| (0.5..1.5).contains(x)));
        assert!(written(FieldKind::Target, Some("mse")).iter().all(|x| (-1.0..1.0).contains(x)));
    }
}
