//! Recipes: everything a user decides about a training in TensorFlow, what it needs, and its form on disk.

use crate::band::share;
use crate::prediction::{Prediction, predict};
use crate::recompute;
use crate::setup::{self, Device, Setup};
use plimsoll_model::{Mode, Model, ModelError};
use plimsoll_trace::Bytes;
use plimsoll_train::Precision;
use plimsoll_train::lever::{Change, Choices};
use serde::{Deserialize, Serialize};

/// The version of the form of [`RecipeFile`].
const FORMAT: u32 = 1;

/// What marks a file as a plan for TensorFlow rather than for Plimsoll.
const FRAMEWORK: &str = "tensorflow";

/// What files of earlier versions kept in hand above a predicted limit, in per cent.
const USUALLY_IN_HAND: u64 = 10;

/// Batches that a `tf.data` pipeline holds beside the one in use: one that is put together and one that waits.
const WAITING_BATCHES: u64 = 2;

/// How a model is trained in TensorFlow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Samples between two updates; a step sees as many as `setup.accumulate` leaves of them.
    pub batch: usize,
    /// How a step is made.
    pub setup: Setup,
    /// Whether the allocator grows region by region instead of taking its limit at once.
    pub growth: bool,
}

/// What a recipe takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needs {
    /// Bytes of tensors at the peak.
    pub live: Bytes,
    /// The peak that TensorFlow reports.
    pub reported: Bytes,
    /// The smallest limit that is predicted to work.
    pub limit: Bytes,
    /// What is kept in hand above it, because predictions may be too low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_hand: Option<Bytes>,
    /// Bytes of input that wait in the same pool.
    pub waiting: Bytes,
    /// What the device must hold beside TensorFlow's pool. Allowances, not measured.
    pub beside: Bytes,
}

impl Recipe {
    /// Samples in a step.
    pub fn rows(&self) -> usize {
        self.batch / self.setup.accumulate.max(1) as usize
    }

    /// What levers can change about it.
    pub fn choices(&self) -> Choices {
        let Setup { optimizer, precision, accumulate, mode, device, .. } = self.setup;
        let mixed = match device {
            Device::Cpu => Precision::MixedBfloat16,
            Device::Gpu => Precision::MixedFloat16,
        };
        Choices {
            batch: self.batch,
            micro_batches: accumulate as usize,
            optimizer,
            precision,
            mixed: Some(mixed),
            threads: 1,
            eager: mode == setup::Mode::Eager,
            // On a CPU, the limit is an upper bound whether the pool grows or not.
            growth: self.growth && device == Device::Gpu,
        }
    }

    /// The recipe after a change; nothing where TensorFlow cannot do it. Keras cuts a batch into equal micro-batches
    /// only.
    pub fn with(&self, change: Change) -> Option<Self> {
        let mut recipe = *self;
        match change {
            Change::Graph => recipe.setup.mode = setup::Mode::Graph,
            Change::OneRegion => recipe.growth = false,
            Change::MicroBatches(count) => {
                recipe.setup.accumulate = u32::try_from(count).ok()?;
                return recipe.is_even().then_some(recipe);
            }
            Change::Precision(precision) => recipe.setup.precision = precision,
            Change::Optimizer(optimizer) => recipe.setup.optimizer = optimizer,
            Change::Batch(batch) => recipe.batch = batch,
            Change::Recompute => recipe.setup.recompute = recompute::COUNTS[0],
            Change::UpdateWhenReady | Change::InPlace | Change::Threads(_) => return None,
        }
        Some(recipe)
    }

    /// The same in as many parts as need least, if it computes parts again.
    pub fn in_best_parts(&self, model: &Model) -> Result<(Self, Option<Needs>), ModelError> {
        if self.setup.recompute == 0 {
            return Ok((*self, self.needs(model)?));
        }
        let with = |recompute: u32| Self { setup: Setup { recompute, ..self.setup }, ..*self };
        let mut best: Option<(Self, Option<Needs>)> = None;
        for recipe in recompute::COUNTS.map(with) {
            let needs = recipe.needs(model)?;
            let less = |(_, most): &(Self, Option<Needs>)| match (&needs, most) {
                (Some(needs), Some(most)) => needs.total() < most.total(),
                (needs, _) => needs.is_some(),
            };
            if best.as_ref().is_none_or(less) {
                best = Some((recipe, needs));
            }
        }
        Ok(best.expect("there is a count"))
    }

    /// Whether all micro-batches have the same number of samples, and one at least.
    pub fn is_even(&self) -> bool {
        let accumulate = self.setup.accumulate as usize;
        self.batch > 0 && accumulate > 0 && self.batch.is_multiple_of(accumulate)
    }

    /// Predicts what it takes; nothing if no limit works.
    pub fn needs(&self, model: &Model) -> Result<Option<Needs>, ModelError> {
        let graph = model.lower(self.rows(), Mode::Training)?;
        Ok(self.needs_of(&predict(&graph, &self.setup)))
    }

    /// What it takes by the prediction of its step.
    pub fn needs_of(&self, prediction: &Prediction) -> Option<Needs> {
        let waiting = match self.setup.device {
            Device::Cpu => Bytes(WAITING_BATCHES * prediction.batch.0),
            // A GPU's input waits in the host's memory.
            Device::Gpu => Bytes::ZERO,
        };
        prediction.smallest_limit(self.growth).map(|limit| Needs {
            live: prediction.live_peak(),
            reported: prediction.reported_peak(self.growth),
            limit,
            in_hand: Some(prediction.band.in_hand(limit)),
            waiting,
            beside: prediction.allowances.iter().map(|(_, bytes)| *bytes).sum(),
        })
    }
}

impl Needs {
    /// What the pool should be given: the predicted limit, what the prediction may be wrong by, and the input that
    /// waits.
    pub fn pool(&self) -> Bytes {
        self.limit + self.in_hand() + self.waiting
    }

    /// What is kept in hand above the limit.
    pub fn in_hand(&self) -> Bytes {
        self.in_hand.unwrap_or(Bytes(share(self.limit.0, USUALLY_IN_HAND)))
    }

    /// What the device must have.
    pub fn total(&self) -> Bytes {
        self.pool() + self.beside
    }
}

/// A recipe on disk: what `fit --as tensorflow` found, to be written as a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecipeFile {
    /// The version of this form.
    pub format: u32,
    /// Who runs it.
    #[serde(rename = "as")]
    pub framework: String,
    /// The model as it was named.
    pub model: String,
    /// What may be used.
    pub budget: Bytes,
    /// How it is trained.
    pub recipe: Recipe,
    /// What that takes.
    pub needs: Needs,
    /// Whether loss and optimizer are those that the model's file was compiled with, so that a script takes them from
    /// there with all their settings.
    #[serde(default)]
    pub as_compiled: bool,
}

/// Why a recipe on disk cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum RecipeError {
    #[error("it is no plan for TensorFlow: {0}")]
    NotARecipe(#[from] serde_json::Error),
    #[error("it has the format {found}; this version reads {FORMAT}")]
    Format { found: u32 },
    #[error("a batch of {batch} cannot be cut into {accumulate} equal parts")]
    Parts { batch: usize, accumulate: u32 },
}

impl RecipeFile {
    /// A recipe for a budget; `model` is how it was named.
    pub fn new(model: &str, budget: Bytes, recipe: Recipe, needs: Needs) -> Self {
        let (framework, model) = (FRAMEWORK.to_string(), model.to_string());
        Self { format: FORMAT, framework, model, budget, recipe, needs, as_compiled: false }
    }

    /// Whether a file looks like a recipe rather than a plan of Plimsoll's own.
    pub fn is_one(json: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Header {
            #[serde(rename = "as")]
            framework: String,
        }
        serde_json::from_slice::<Header>(json).is_ok_and(|header| header.framework == FRAMEWORK)
    }

    /// Reads one.
    pub fn parse(json: &[u8]) -> Result<Self, RecipeError> {
        let file: Self = serde_json::from_slice(json)?;
        let (batch, accumulate) = (file.recipe.batch, file.recipe.setup.accumulate);
        if file.format != FORMAT {
            return Err(RecipeError::Format { found: file.format });
        }
        if !file.recipe.is_even() {
            return Err(RecipeError::Parts { batch, accumulate });
        }
        Ok(file)
    }
}
