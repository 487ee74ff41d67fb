//! The training step that a command is about, as it is written on the command line.

use crate::searching;
use crate::size::size;
use clap::{Args, ValueEnum};
use plimsoll::train::{Loss, Optimizer};
use plimsoll::{Bytes, JobRequest, MOST_MICRO_BATCHES, OnNan};

/// What inspecting, fitting and training need to know.
#[derive(Args)]
pub struct Step {
    /// A model of the zoo with its options, such as resnet50@224 or cnn@8,channels=1 (see `plimsoll zoo`), or a file of
    /// Keras: .keras, .h5 or the .json of model.to_json(), with the size of its images behind it where it leaves that
    /// open, such as model.keras@224
    #[arg(value_name = "MODEL", required = true)]
    pub model: Option<String>,
    /// Samples in a step
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = batch)]
    pub batch: usize,
    /// Cut the batch into so many micro-batches, whose gradients are added up and applied at once (gradient
    /// accumulation) [default: as many as it takes]; more than one round sums in another order, so losses differ in
    /// their last digits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_MICRO_BATCHES as i64))]
    pub micro_batches: Option<u32>,
    /// sgd, momentum, nesterov, rmsprop, adam, adamw, nadam, adamax, adagrad, adadelta, ftrl, lion, adafactor, lamb,
    /// muon or schedule_free_adamw, with Keras's defaults; the one that the model's file was compiled with has the
    /// file's settings [default: what the model's file was compiled with, or adam]
    #[arg(long, value_name = "NAME", value_parser = optimizer)]
    pub optimizer: Option<Optimizer>,
    /// What is minimized, by its Keras name [default: what the model's file was compiled with, or
    /// sparse_categorical_crossentropy]
    #[arg(long, value_name = "NAME", value_parser = loss)]
    pub loss: Option<Loss>,
    /// What happens to a step whose loss or gradients are not finite [default: stop]; to skip it, updates wait for all
    /// gradients, which takes memory
    #[arg(long, value_name = "WHAT", value_enum)]
    pub on_nan: Option<NanAction>,
    /// Threads that kernels run on, 512 at most [default: all]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// The most memory the step may take, such as 512MiB, 2GB or 1.5GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// What happens to a step whose loss or gradients are not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NanAction {
    /// End with the first value that is not finite
    Stop,
    /// Change nothing, count it and go on
    Skip,
}

impl Step {
    /// The job that is asked for.
    pub fn request(&self) -> JobRequest {
        JobRequest {
            model: self.model().to_string(),
            batch: self.batch,
            micro_batches: self.micro_batches.map(|count| count as usize),
            loss: self.loss,
            optimizer: self.optimizer,
            on_nan: match self.on_nan {
                None | Some(NanAction::Stop) => OnNan::Stop,
                Some(NanAction::Skip) => OnNan::Skip,
            },
            threads: self.threads.map(usize::from),
            watch: searching::watch(),
        }
    }

    /// The model as it was written.
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or_default()
    }
}

/// The most samples in a step: which ones they are is noted beside the plan, so their number is bounded.
const MOST_SAMPLES: usize = 1 << 24;

fn batch(text: &str) -> Result<usize, String> {
    let samples = text.parse::<usize>().ok().filter(|&samples| samples <= MOST_SAMPLES);
    samples.ok_or_else(|| format!("it must be a number up to {MOST_SAMPLES}"))
}

/// An optimizer by its name.
pub fn optimizer(name: &str) -> Result<Optimizer, String> {
    let names = Optimizer::DEFAULTS.map(|optimizer| optimizer.name().to_string()).join(", ");
    Optimizer::parse(name)
        .ok_or_else(|| format!("there is no optimizer `{name}`\n  hint: the optimizers are {names}"))
}

fn loss(name: &str) -> Result<Loss, String> {
    Loss::parse(name).ok_or_else(|| format!("there is no loss `{name}`"))
}
