//! What can be written on the command line.

use clap::{Args, Parser, Subcommand};
use plimsoll::Bytes;
use plimsoll::train::{Loss, Optimizer};

/// Trains deep-learning models inside a memory budget, with a peak that is known before the first step.
#[derive(Parser)]
#[command(name = "plimsoll", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Command {
    /// Show where the memory of a training step goes: by role, by layer, over time
    Inspect(Inspect),
    /// Replay a recorded trace through other allocators: what each needs, and where it runs out
    Replay(Replay),
    /// Train a model inside a memory budget
    Train(Train),
    /// List the models that can be named
    Zoo(Zoo),
}

/// What both inspecting and training need to know.
#[derive(Args)]
pub struct Step {
    /// A model of the zoo with its options, such as resnet50@224 or cnn@8,channels=1 (see `plimsoll zoo`)
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// Samples in a step
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: usize,
    /// sgd, momentum, nesterov, rmsprop, adam or adamw
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = optimizer)]
    pub optimizer: Optimizer,
    /// What is minimized, by its Keras name
    #[arg(long, value_name = "NAME", default_value = "sparse_categorical_crossentropy", value_parser = loss)]
    pub loss: Loss,
    /// Threads that kernels run on [default: all]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// The most memory the step may take, such as 512MiB, 2GB or 1.5GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll inspect`
#[derive(Args)]
pub struct Inspect {
    /// The step that is looked at.
    #[command(flatten)]
    pub step: Step,
    /// How many layers and values to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
}

/// `plimsoll train`
#[derive(Args)]
pub struct Train {
    /// The step that is repeated.
    #[command(flatten)]
    pub step: Step,
    /// digits (embedded) or synthetic (random samples of what the model takes)
    #[arg(long, value_name = "NAME", default_value = "digits")]
    pub data: String,
    /// How often every sample is seen
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "steps")]
    pub epochs: u64,
    /// How many steps to make, instead of whole epochs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,
    /// How far each step goes [default: what Keras uses for the optimizer]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub learning_rate: Option<f32>,
    /// Decides the first weights, the order of samples and what dropout drops
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Overwrite freed memory with NaNs, to show that nobody reads it
    #[arg(long)]
    pub poison: bool,
}

/// `plimsoll replay`
#[derive(Args)]
pub struct Replay {
    /// A trace: Plimsoll's text form or a log of TensorFlow's allocator, gzip or not; - for standard input
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// Which allocators: bfc (TensorFlow), torch and torch-expandable (PyTorch), best-fit, bump, planned
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "bfc,torch,torch-expandable,best-fit,planned",
        value_parser = allocator
    )]
    pub allocator: Vec<String>,
    /// What each allocator may take, such as 512MiB [default: as much as it likes]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub limit: Option<Bytes>,
    /// Whether bfc grows region by region (on) or takes its whole limit at once (off, TensorFlow's default on a GPU)
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true, value_parser = ["on", "off"])]
    pub growth: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll zoo`
#[derive(Args)]
pub struct Zoo {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

fn size(text: &str) -> Result<Bytes, String> {
    text.parse::<Bytes>().map_err(|error| format!("{error}\n  hint: write it like 512MiB, 2GB or 1.5GiB"))
}

fn allocator(name: &str) -> Result<String, String> {
    let names = plimsoll::replay::names();
    match names.contains(&name) {
        true => Ok(name.to_string()),
        false => {
            Err(format!("there is no allocator `{name}`\n  hint: the allocators are {}", names.join(", ")))
        }
    }
}

fn optimizer(name: &str) -> Result<Optimizer, String> {
    let names = Optimizer::DEFAULTS.map(|optimizer| optimizer.name().to_string()).join(", ");
    Optimizer::parse(name)
        .ok_or_else(|| format!("there is no optimizer `{name}`\n  hint: the optimizers are {names}"))
}

fn loss(name: &str) -> Result<Loss, String> {
    Loss::parse(name).ok_or_else(|| format!("there is no loss `{name}`"))
}
