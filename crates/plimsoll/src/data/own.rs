//! Data of one's own: found by its path, bound to a model, read ahead within a share of the budget.

use super::{DataError, Dataset, FieldKind, Samples, Slot, Wanted};
use crate::{Bytes, Job, JobError, Note};
use plimsoll_graph::Shape;
use plimsoll_input::{
    Account, Found, InputError, Needs, OnBadSample, PixelRange, Pixels, Prefetched, Reading, Room, Settings,
    Source, Want, without_bad_samples,
};
use plimsoll_model::{Layer, Model};
use std::path::Path;
use std::sync::Arc;

/// The most that input takes where nobody says how much.
pub const USUAL_MEMORY: Bytes = Bytes::mib(256);

/// Targets are looked at before the first step, if they are not more.
const MOST_TARGETS: usize = 1 << 20;

/// What can be said about data of one's own, beside its path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputRequest {
    /// The most memory that reading may take; a part of the budget. As much as helps where nothing is said.
    pub memory: Option<Bytes>,
    /// The share of samples to keep apart and judge the result by.
    pub validation: Option<f64>,
    /// The column of a table that is to be predicted.
    pub target: Option<String>,
    /// What black and white become; what the model seems to want where nothing is said.
    pub pixels: Option<PixelRange>,
    /// What happens to samples that cannot be read.
    pub on_bad_sample: OnBadSample,
}

/// What data say about the model that is to learn from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The shape of a sample, where all have one.
    pub shape: Option<Shape>,
    /// How many classes there are.
    pub classes: Option<usize>,
}

/// Data of one's own that were found.
pub struct OwnData {
    found: Found,
    account: Arc<Account>,
    threads: usize,
}

/// Data of one's own that a model can learn from.
pub struct BoundData {
    train: Arc<Reading>,
    test: Option<Arc<Reading>>,
    /// What was found and what becomes of it, in lines.
    pub said: Vec<String>,
    /// What should be known.
    pub notes: Vec<Note>,
    /// Samples that were left out, and why.
    pub bad: Vec<InputError>,
    account: Arc<Account>,
    threads: usize,
}

impl OwnData {
    /// Whether something is the path of data rather than the name of a data set.
    pub fn is_meant(data: &str) -> bool {
        !super::NAMES.iter().any(|(name, _)| *name == data)
            && (Path::new(data).exists() || data.contains(['/', '\\', '.']))
    }

    /// Finds out what a path leads to; what is held in memory for that is not more than some bytes.
    pub fn open(path: &str, request: &InputRequest, most: Bytes, threads: usize) -> Result<Self, InputError> {
        let account = Account::new(request.memory.unwrap_or(USUAL_MEMORY.min(most)));
        let settings = Settings {
            validation: request.validation,
            target: request.target.clone(),
            pixels: request.pixels,
            on_bad_sample: request.on_bad_sample,
            threads,
            ..Settings::default()
        };
        let found = plimsoll_input::open(Path::new(path), &settings, &account)?;
        Ok(Self { found, account, threads })
    }

    /// What was found.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The account of its memory.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// What it says about a model.
    pub fn outline(&self) -> Outline {
        let shape = self.found.input_shape().map(Shape::new);
        Outline { shape, classes: self.found.classes().map(<[String]>::len) }
    }

    /// Whether samples have weights.
    pub fn has_weights(&self) -> bool {
        self.found.train.columns().iter().any(|column| column.role == Some(FieldKind::SampleWeight))
    }

    /// Binds the data to what a job wants, and leaves only as much memory to it as helps. Targets that make no sense
    /// are found here, as far as looking at them is quick.
    pub fn bind(self, job: &Job) -> Result<BoundData, JobError> {
        let wanted = Wanted::of(&job.training_graph()?);
        let wants: Vec<Want> = wanted.slots.iter().map(want).collect();
        let Self { found, account, threads } = self;
        let settings = found.settings.clone();
        let range = settings.pixels.unwrap_or_else(|| range_for(&job.model));
        let pixels = Pixels { range, mean: settings.mean.clone(), deviation: settings.deviation.clone() };
        let bind = |source: &Arc<dyn Source>| Reading::new(source.clone(), &wants, &settings, &pixels);
        let mut bad = Vec::new();
        let mut kept = |reading: Reading| -> Result<Arc<Reading>, InputError> {
            if settings.on_bad_sample == OnBadSample::Stop {
                if reading.source().count() <= MOST_TARGETS {
                    reading.check_targets(&mut Room::new(&account))?;
                }
                return Ok(Arc::new(reading));
            }
            // Samples are read beside a batch that waits.
            let waiting = Bytes(reading.sample_bytes().0 * job.batch as u64);
            let _waiting = account.hold("samples that wait", waiting)?;
            let (source, faults) = without_bad_samples(&reading, threads, &account)?;
            bad.extend(faults);
            Ok(Arc::new(reading.of(source)))
        };
        let train = bind(&found.train).and_then(&mut kept).map_err(DataError::from)?;
        let test = found.test.as_ref().map(&bind).transpose().map_err(DataError::from)?;
        let test = test.map(&mut kept).transpose().map_err(DataError::from)?;
        let said = [Some(found.headline()), found.pictures(range)].into_iter().flatten().collect();
        let mut notes: Vec<Note> = found.notes.iter().cloned().map(Note::Data).collect();
        notes.extend(surplus(&found, &wanted).map(Note::Data));
        let wish = Needs::wish(&train, job.batch, threads).total();
        account.set_limit(account.limit().min(account.in_use() + wish));
        Ok(BoundData { train, test, said, notes, bad, account, threads })
    }
}

impl BoundData {
    /// What reading takes at most.
    pub fn memory(&self) -> Bytes {
        self.account.limit()
    }

    /// The most that reading has taken.
    pub fn peak(&self) -> Bytes {
        self.account.peak()
    }

    /// The samples, which are wanted in batches of this size at most.
    pub fn dataset(&self, name: &str, batch: usize) -> Result<Dataset, DataError> {
        let samples = |reading: &Arc<Reading>| {
            let samples = Prefetched::new(reading.clone(), &self.account, batch, self.threads)?;
            Ok::<_, InputError>(Box::new(samples) as Box<dyn Samples>)
        };
        let test = self.test.as_ref().map(samples).transpose()?;
        Ok(Dataset { name: name.to_string(), train: samples(&self.train)?, test })
    }
}

fn want(slot: &Slot) -> Want {
    let Slot { kind, name, tensor, below, .. } = slot.clone();
    // A graph without a table of vectors says nothing about integers.
    let below = if kind == FieldKind::Input && below <= 2 { i32::MAX as usize } else { below };
    Want { kind, name, tensor, below, optional: slot.optional }
}

/// A model that rescales its input by itself wants it as it is stored.
fn range_for(model: &Model) -> PixelRange {
    let rescales = |layer: &Layer| matches!(layer, Layer::Rescaling(_) | Layer::Normalization(_));
    match model.nodes.iter().any(|node| rescales(&node.layer)) {
        true => PixelRange::Bytes,
        false => PixelRange::Unit,
    }
}

/// That a model tells more classes apart than there are.
fn surplus(found: &Found, wanted: &Wanted) -> Option<String> {
    let (classes, slot) =
        (found.classes()?.len(), wanted.slots.iter().find(|slot| slot.kind == FieldKind::Target)?);
    let is_more = slot.below > classes && slot.below > 1;
    is_more.then(|| format!("the model tells {} classes apart, the data has {classes}", slot.below))
}
