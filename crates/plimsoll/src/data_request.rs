//! A look at data of one's own: what is in it, what is broken, and how fast it can be read.

use crate::data::{DataError, InputRequest, OwnData, USUAL_MEMORY};
use crate::reports::{ColumnReport, DataReport, RateReport};
use crate::{Bytes, RequestError};
use plimsoll_graph::{ElementType, Shape, TensorType};
use plimsoll_input::{
    Account, Column, Content, Datum, FieldKind, Found, InputError, OnBadSample, PixelRange, Pixels,
    Prefetched, Reading, Room, Samples, Source, Want, without_bad_samples,
};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A look at data, as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct DataRequest {
    /// Where they are.
    pub path: String,
    /// What else is said about them.
    pub input: InputRequest,
    /// The height and width that images are read in.
    pub size: usize,
    /// How many samples are wanted at once.
    pub batch: usize,
    /// How many threads read; without it, all.
    pub threads: Option<usize>,
    /// Whether every sample is read, to find those that are broken and those that are there twice.
    pub reads_all: bool,
}

/// How many tokens of a text are read where no model says it.
const USUAL_LENGTH: usize = 256;

/// How long reading is measured at most.
const LONGEST: Duration = Duration::from_secs(5);

impl DataRequest {
    /// Data with everything as usual.
    pub fn of(path: impl Into<String>) -> Self {
        let input = InputRequest::default();
        Self { path: path.into(), input, size: 224, batch: 32, threads: None, reads_all: true }
    }

    /// Looks.
    pub fn look(&self) -> Result<DataReport, RequestError> {
        self.looked().map_err(|error| DataError::from(error).into())
    }

    fn looked(&self) -> Result<DataReport, InputError> {
        let threads =
            self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        // What is broken is to be told, not to be stopped at.
        let input = InputRequest { on_bad_sample: OnBadSample::Skip, ..self.input.clone() };
        let own = OwnData::open(&self.path, &input, USUAL_MEMORY, threads)?;
        let (found, account) = (own.found(), own.account());
        let range = found.settings.pixels.unwrap_or(PixelRange::Unit);
        let wants = wants(found.train.columns(), self.size);
        let reading = Reading::new(found.train.clone(), &wants, &found.settings, &Pixels::new(range))?;
        let (source, broken) = match self.reads_all {
            true => without_bad_samples(&reading, threads, account)?,
            false => (found.train.clone(), Vec::new()),
        };
        let twice = if self.reads_all { twice(&*source, account)? } else { None };
        let rate = self.rate(Arc::new(reading.of(source)), account, threads)?;
        let balance = found.balance(account).unwrap_or(None);
        Ok(DataReport {
            path: self.path.clone(),
            kind: found.kind,
            samples: found.train.count(),
            test_samples: found.test.as_ref().map(|test| test.count()),
            columns: found.train.columns().iter().map(column).collect(),
            pictures: found.pictures(range).filter(|_| has_images(found)),
            classes: balance,
            broken: broken.iter().map(ToString::to_string).collect(),
            twice,
            notes: found.notes.clone(),
            memory_bytes: account.limit(),
            peak_bytes: account.peak(),
            rate,
        })
    }

    /// How fast samples are read, in the order of a shuffle.
    fn rate(
        &self,
        reading: Arc<Reading>,
        account: &Arc<Account>,
        threads: usize,
    ) -> Result<RateReport, InputError> {
        let batch = self.batch.clamp(1, reading.source().count());
        let samples = Prefetched::new(reading, account, batch, threads)?;
        let start = Instant::now();
        let batches = samples.count() / batch;
        samples.announce(Some(0), 0..(batches * batch) as u64);
        let mut read = 0;
        for number in 0..batches {
            let first = (number * batch) as u64;
            let drawn = first..first + batch as u64;
            let drawn: Vec<usize> =
                drawn.map(|position| plimsoll_input::order::sample(0, position, samples.count())).collect();
            samples.ready(first, &drawn)?;
            read += batch;
            if start.elapsed() > LONGEST {
                break;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        samples.rest();
        let rates = samples.rates().unwrap_or_default();
        let each = |stage: usize| rates.stages[stage].as_secs_f64() / rates.samples.max(1) as f64;
        Ok(RateReport {
            samples: read,
            samples_per_second: read as f64 / seconds.max(f64::MIN_POSITIVE),
            threads: samples.needs().threads,
            batch,
            read_seconds: each(0),
            decode_seconds: each(1),
            resize_seconds: each(2),
            mostly: rates.limited_by(),
        })
    }
}

fn has_images(found: &Found) -> bool {
    found.train.columns().iter().any(|column| matches!(column.content, Content::Images(_)))
}

/// Everything that can be read, as it is; images in one size.
fn wants(columns: &[Column], size: usize) -> Vec<Want> {
    let want = |column: &Column| {
        let kind = column.role.unwrap_or(FieldKind::Input);
        let (element, shape) = match &column.content {
            Content::Images(_) => (ElementType::F32, Shape::new([size, size, 3])),
            Content::Numbers(numbers) => (ElementType::F32, Shape::new(&numbers.shape[..])),
            Content::Class(_) if kind == FieldKind::Target => (ElementType::I32, Shape::scalar()),
            Content::Tokens(tokens) => {
                (ElementType::I32, Shape::new([tokens.window.unwrap_or(USUAL_LENGTH)]))
            }
            Content::Class(_) | Content::Text => return None,
        };
        let (name, tensor) = (column.name.clone(), TensorType::new(element, shape));
        Some(Want { kind, name, tensor, below: usize::MAX, optional: false })
    };
    columns.iter().filter_map(want).collect()
}

/// Images that are there more than once, byte for byte; the first few of them. Nothing where there are no images.
fn twice(source: &dyn Source, account: &Arc<Account>) -> Result<Option<Vec<String>>, InputError> {
    let is_image = |column: &Column| matches!(column.content, Content::Images(_));
    let Some(column) = source.columns().iter().position(is_image) else { return Ok(None) };
    let _taken = account.hold("sums of all images", Bytes(48 * source.count() as u64))?;
    let mut room = Room::new(account);
    let mut seen = HashSet::with_capacity(source.count());
    let mut again = Vec::new();
    for sample in 0..source.count() {
        let Datum::Image(bytes) = source.read(sample, column, &mut room)? else { continue };
        let mut sum = DefaultHasher::new();
        room.bytes(bytes).hash(&mut sum);
        if !seen.insert((sum.finish(), bytes)) {
            again.push(source.place(sample));
        }
    }
    Ok(Some(again))
}

fn column(column: &Column) -> ColumnReport {
    let role = column.role.map(|role| role.to_string());
    let content = match &column.content {
        Content::Images(_) => "images".to_string(),
        Content::Numbers(numbers) => {
            let extents: Vec<String> = numbers.shape.iter().map(usize::to_string).collect();
            let range = numbers.range.map(|(low, high)| format!(" from {low} to {high}")).unwrap_or_default();
            match numbers.range {
                Some(_) => format!("numbers{range}"),
                None => format!("{}[{}]", numbers.element.name(), extents.join(",")),
            }
        }
        Content::Class(names) => format!("{} classes", names.len()),
        Content::Text => "text".to_string(),
        Content::Tokens(tokens) => match tokens.window {
            Some(window) => format!("{window} tokens from 0 to {}", tokens.below - 1),
            None => format!("tokens from 0 to {}", tokens.below - 1),
        },
    };
    ColumnReport { name: column.name.clone(), role, content }
}
