//! Pipelines of all sorts: the account is never overdrawn, every sample comes once an epoch, threads change nothing,
//! and a run can go on anywhere.

use plimsoll_graph::{ElementType, Shape, TensorType};
use plimsoll_input::source::Numbers;
use plimsoll_input::{
    Account, Augment, Column, Content, Datum, Elements, FieldKind, InputError, Number, PixelRange, Pixels,
    Prefetched, Reading, Room, Samples, Settings, Source, Want, open, order,
};
use plimsoll_trace::Bytes;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// Samples that say their number, of some size, with a pause that differs; one of them may be broken.
struct Numbered {
    count: usize,
    columns: [Column; 1],
    broken: Option<usize>,
}

impl Numbered {
    fn new(count: usize, elements: usize) -> Self {
        let numbers = Numbers::new(Number::F32, vec![elements]);
        Self {
            count,
            columns: [Column::new("x", Some(FieldKind::Input), Content::Numbers(numbers))],
            broken: None,
        }
    }
}

impl Source for Numbered {
    fn count(&self) -> usize {
        self.count
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, _: usize, room: &mut Room) -> Result<Datum, InputError> {
        if self.broken == Some(sample) {
            return Err(InputError::sample(self.place(sample), "it is broken"));
        }
        if sample.is_multiple_of(7) {
            std::thread::yield_now();
        }
        let Content::Numbers(numbers) = &self.columns[0].content else { unreachable!() };
        let bytes = 4 * numbers.elements();
        let into = room.load(bytes, &|| self.place(sample))?;
        into.chunks_exact_mut(4).for_each(|four| four.copy_from_slice(&(sample as f32).to_le_bytes()));
        Ok(Datum::Numbers(bytes))
    }

    fn place(&self, sample: usize) -> String {
        format!("sample {sample}")
    }
}

fn want(shape: &[usize]) -> Want {
    let tensor = TensorType::new(ElementType::F32, Shape::new(shape));
    Want { kind: FieldKind::Input, name: "x".to_string(), tensor, below: 0, optional: false }
}

fn reading(source: impl Source + 'static, shape: &[usize], settings: &Settings) -> Arc<Reading> {
    let pixels = Pixels::new(PixelRange::Bytes);
    Arc::new(Reading::new(Arc::new(source), &[want(shape)], settings, &pixels).unwrap())
}

/// What a run reads from a position on, in batches.
fn run(samples: &Prefetched, seed: u64, batch: usize, positions: std::ops::Range<u64>) -> Vec<Vec<f32>> {
    let elements = samples.fields()[0].shape.as_ref().unwrap().elements();
    samples.announce(Some(seed), positions.clone());
    let mut read = Vec::new();
    for first in positions.clone().step_by(batch) {
        let drawn = first..(first + batch as u64).min(positions.end);
        let drawn: Vec<usize> =
            drawn.map(|position| order::sample(seed, position, samples.count())).collect();
        samples.ready(first, &drawn).unwrap();
        for &sample in &drawn {
            let mut values = vec![f32::NAN; elements];
            samples.write(0, sample, Elements::F32(&mut values));
            read.push(values);
        }
    }
    samples.rest();
    read
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_account_is_never_overdrawn_and_every_sample_comes_once(
        count in 1usize..60,
        elements in 1usize..300,
        batch in 1usize..20,
        threads in 1usize..5,
        spare in 0u64..40_000,
        seed in any::<u64>(),
    ) {
        let reading = reading(Numbered::new(count, elements), &[elements], &Settings::default());
        let least = reading.sample_bytes().0 * batch as u64 + reading.room_bytes().0;
        let account = Account::new(Bytes(least + spare));
        let samples = Prefetched::new(reading.clone(), &account, batch, threads).unwrap();
        let read = run(&samples, seed, batch, 0..2 * count as u64);
        prop_assert!(account.peak() <= account.limit());
        prop_assert_eq!(account.in_use(), Bytes::ZERO);
        for epoch in read.chunks(count) {
            prop_assert!(epoch.iter().all(|sample| sample.iter().all(|number| *number == sample[0])));
            let mut numbers: Vec<usize> = epoch.iter().map(|sample| sample[0] as usize).collect();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(0..count));
        }
        let tight = Account::new(Bytes(least - 1));
        prop_assert!(Prefetched::new(reading, &tight, batch, threads).is_err());
    }

    #[test]
    fn a_run_goes_on_at_any_sample(count in 2usize..40, batch in 1usize..9, cut in 0u64..80, seed in any::<u64>()) {
        let account = Account::new(Bytes::mib(1));
        let samples = |threads| {
            let reading = reading(Numbered::new(count, 3), &[3], &Settings::default());
            Prefetched::new(reading, &account, batch, threads).unwrap()
        };
        let end = 2 * count as u64;
        let cut = cut.min(end);
        let whole = run(&samples(1), seed, batch, 0..end);
        let two = samples(3);
        let parts = [run(&two, seed, batch, 0..cut), run(&two, seed, batch, cut..end)].concat();
        prop_assert_eq!(whole, parts);
    }
}

#[test]
fn a_broken_sample_is_an_error_in_its_turn_and_no_hang() {
    let source = Numbered { broken: Some(5), ..Numbered::new(10, 4) };
    let account = Account::new(Bytes::mib(1));
    let samples = Prefetched::new(reading(source, &[4], &Settings::default()), &account, 3, 2).unwrap();
    samples.announce(None, 0..10);
    samples.ready(0, &[0, 1, 2]).unwrap();
    let error = samples.ready(3, &[3, 4, 5]).unwrap_err();
    assert_eq!(error.to_string(), "sample 5: it is broken");
    samples.rest();
    assert_eq!(account.in_use(), Bytes::ZERO);
}

#[test]
fn samples_that_were_not_announced_are_read_all_the_same() {
    let account = Account::new(Bytes::mib(1));
    let samples =
        Prefetched::new(reading(Numbered::new(10, 2), &[2], &Settings::default()), &account, 2, 2).unwrap();
    let first = |sample: usize| {
        let mut values = [f32::NAN; 2];
        samples.write(0, sample, Elements::F32(&mut values));
        values[0]
    };
    samples.ready(0, &[7, 3]).unwrap();
    assert_eq!((first(7), first(3)), (7.0, 3.0));
    samples.announce(None, 0..10);
    samples.ready(0, &[0, 1]).unwrap();
    // A part of what is there, as when a step is made again in parts.
    samples.ready(1, &[1]).unwrap();
    assert_eq!(first(1), 1.0);
    samples.ready(2, &[2, 3]).unwrap();
    samples.ready(6, &[9, 9]).unwrap();
    assert_eq!(first(9), 9.0);
}

#[test]
fn images_are_the_same_with_any_number_of_threads() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/images");
    let augment = Augment { flip: true, crop: Some(0.6), brightness: 0.3, contrast: 0.2, saturation: 0.4 };
    let settings = Settings { augment, ..Settings::default() };
    let read = |threads: usize, memory: Bytes| {
        let account = Account::new(memory);
        let found = open(&golden, &settings, &account).unwrap();
        let pixels = Pixels::new(PixelRange::Unit);
        let wants = [Want { name: "image".to_string(), ..want(&[9, 7, 3]) }];
        let reading = Reading::new(found.train.clone(), &wants, &settings, &pixels).unwrap();
        let samples = Prefetched::new(Arc::new(reading), &account, 4, threads).unwrap();
        let read = run(&samples, 11, 4, 0..40);
        assert!(account.peak() <= memory);
        read
    };
    let one = read(1, Bytes::mib(1));
    assert_eq!(one, read(2, Bytes::mib(8)));
    assert_eq!(one, read(4, Bytes::mib(32)));
    let count = one.len() / 2;
    assert_ne!(one[..count], one[count..], "images are changed anew");
}
