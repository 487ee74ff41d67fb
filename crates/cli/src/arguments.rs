//! What can be written on the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use plimsoll::memory::ALLOCATOR_NAMES;
use plimsoll::tensorflow;
use plimsoll::trace::Alignment;
use plimsoll::train::{Loss, Optimizer};
use plimsoll::{Bytes, MOST_PARTS};
use std::path::PathBuf;

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
    /// Find the fastest training step that fits a number of bytes, and write it as a plan
    Fit(Fit),
    /// Replay a recorded trace through other allocators: what each needs, and where it runs out
    Replay(Replay),
    /// Show plans, traces and models as one HTML page, or as text: memory over time, layout, who is live, layers; side by side
    Report(Report),
    /// Write a recorded trace for another tool (Perfetto, TensorBoard, a spreadsheet), or a plan as a script for TensorFlow
    Export(Export),
    /// Find out why memory ran out, from the log: TensorFlow's, XLA's, PyTorch's or our own, and what would help
    Diagnose(Diagnose),
    /// Train a model inside a memory budget
    Train(Train),
    /// Place the buffers of a layout problem in as little memory as possible, and draw them
    Place(Place),
    /// Show the devices, their limits and what is free of them
    Devices(Devices),
    /// Measure how fast this machine runs each class of ops, once, so that times can be predicted
    Calibrate(Calibrate),
    /// List the models that can be named
    Zoo(Zoo),
}

/// What both inspecting and training need to know.
#[derive(Args)]
pub struct Step {
    /// A model of the zoo with its options, such as resnet50@224 or cnn@8,channels=1 (see `plimsoll zoo`), or a file of Keras: .keras,
    /// .h5 or the .json of model.to_json(), with the size of its images behind it where it leaves that open, such as model.keras@224
    #[arg(value_name = "MODEL", required = true)]
    pub model: Option<String>,
    /// Samples in a step
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = batch)]
    pub batch: usize,
    /// Cut the batch into so many micro-batches, whose gradients are added up and applied at once [default: as many as it takes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_PARTS as i64))]
    pub micro_batches: Option<u32>,
    /// sgd, momentum, nesterov, rmsprop, adam or adamw [default: what the model's file was compiled with, or adam]
    #[arg(long, value_name = "NAME", value_parser = optimizer)]
    pub optimizer: Option<Optimizer>,
    /// What is minimized, by its Keras name [default: what the model's file was compiled with, or sparse_categorical_crossentropy]
    #[arg(long, value_name = "NAME", value_parser = loss)]
    pub loss: Option<Loss>,
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
    /// What would run the step instead of Plimsoll.
    #[command(flatten)]
    pub foreign: Foreign,
}

/// What would run the step instead of Plimsoll, and how.
#[derive(Args)]
pub struct Foreign {
    /// Predict what another framework would need: tensorflow
    #[arg(long = "as", value_name = "FRAMEWORK", value_enum)]
    pub framework: Option<Framework>,
    /// graph: a tf.function; eager: without one; keras: model.fit [default: graph]
    #[arg(long, value_name = "MODE", value_parser = foreign_mode)]
    pub mode: Option<tensorflow::Mode>,
    /// float32, mixed_float16 or mixed_bfloat16 [default: float32]
    #[arg(long, value_name = "POLICY", value_parser = precision)]
    pub precision: Option<tensorflow::Precision>,
    /// Add up the gradients of so many steps before the weights change
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub accumulate: Option<u32>,
    /// Whether TensorFlow's allocator grows region by region [default: on for cpu, off for gpu]
    #[arg(long, value_name = "ON|OFF", value_enum)]
    pub growth: Option<Switch>,
    /// cpu: as measured; gpu: without the CPU's scratch, with allowances that were not measured [default: cpu]
    #[arg(long, value_name = "DEVICE", value_enum)]
    pub device: Option<ForeignDevice>,
}

impl Foreign {
    /// An option that says nothing without a framework.
    pub fn idle_option(&self) -> Option<&'static str> {
        let given = [
            ("--mode", self.mode.is_some()),
            ("--precision", self.precision.is_some()),
            ("--accumulate", self.accumulate.is_some()),
            ("--growth", self.growth.is_some()),
            ("--device", self.device.is_some()),
        ];
        let idle = given.into_iter().find(|(_, given)| *given && self.framework.is_none());
        idle.map(|(name, _)| name)
    }
}

/// Whose memory is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Framework {
    /// TensorFlow with Keras 3
    Tensorflow,
}

/// Where a foreign step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForeignDevice {
    /// TensorFlow's CPU kernels
    Cpu,
    /// A GPU
    Gpu,
}

/// `plimsoll fit`
///
/// Exit codes: 0 fits, 1 does not fit, 2 bad usage or input.
#[derive(Args)]
#[command(mut_arg("memory", |arg| arg.required(true)))]
pub struct Fit {
    /// The step that must fit.
    #[command(flatten)]
    pub step: Step,
    /// Look for the largest value that fits instead of taking the one given
    #[arg(long, value_name = "WHAT", value_parser = ["batch"], conflicts_with_all = ["batch", "micro_batches", "allow"])]
    pub maximize: Option<String>,
    /// With --maximize: how much slower a sample may be than as written, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 35.0, requires = "maximize")]
    pub slowdown: f64,
    /// Levers that change the numbers, as a list: accumulate (micro-batches although batch statistics then see only one of them), optimizer
    /// (one that keeps less), batch (a smaller one), and with --as tensorflow precision (mixed)
    #[arg(long, value_name = "LEVERS", value_delimiter = ',', value_enum)]
    pub allow: Vec<Lever>,
    /// Who shall run the step instead of Plimsoll.
    #[command(flatten)]
    pub foreign: Foreign,
    /// Where the plan is written [default: the model's name with .plan.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A lever that changes the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lever {
    /// Micro-batches where samples of a batch see each other
    Accumulate,
    /// An optimizer that keeps less
    Optimizer,
    /// A smaller batch
    Batch,
    /// Two bytes an element where that is enough
    Precision,
}

/// `plimsoll train`
#[derive(Args)]
#[command(mut_arg("model", |arg| arg.required(false).required_unless_present("plan")))]
pub struct Train {
    /// The step that is repeated.
    #[command(flatten)]
    pub step: Step,
    /// Run a plan that `plimsoll fit` wrote, instead of naming a model and its step
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "batch", "micro_batches", "optimizer", "loss", "threads", "mode", "lengths"])]
    pub plan: Option<PathBuf>,
    /// The device to train on (see `plimsoll devices`); without --memory its limit is what the cgroup and the available memory
    /// leave, minus a reserve of 5 % of that (at least 256 MiB, at most half)
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub device: String,
    /// Cut the host into logical devices, such as 1GiB,512MiB, and train on the one that --device names [default: the first]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = part)]
    pub split: Vec<Part>,
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
    /// Write the trained model, such as out.keras: the configuration of the file it came from, with the new weights
    #[arg(long, value_name = "FILE.keras")]
    pub save: Option<PathBuf>,
    /// Overwrite freed memory with NaNs, to show that nobody reads it
    #[arg(long)]
    pub poison: bool,
    /// Record what happens to memory, for `plimsoll report`, `export` and `replay`; costs next to nothing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// How tensors get their memory.
    #[command(flatten)]
    pub memory_use: MemoryUse,
}

/// How tensors get their memory.
#[derive(Args)]
pub struct MemoryUse {
    /// graph: by a plan, in one arena; eager: op by op, from an allocator
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Mode::Graph)]
    pub mode: Mode,
    /// Who gives out memory in eager mode [default: bfc]
    #[arg(long, value_name = "NAME", value_parser = ALLOCATOR_NAMES)]
    pub allocator: Option<String>,
    /// Whether the device, or bfc in eager mode, takes memory as it is needed or all of the limit at once [default: on]
    #[arg(long, value_name = "ON|OFF", value_enum)]
    pub growth: Option<Switch>,
    /// What happens when memory runs out in a step of eager mode [default: stop]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub on_oom: Option<OnOom>,
    /// Train a text model on synthetic sequences whose lengths take turns, such as 16,32,64
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    pub lengths: Vec<u16>,
}

/// When memory is decided upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Before the run, by a plan
    Graph,
    /// During the run, by an allocator
    Eager,
}

/// A setting with two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// What happens when memory runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOom {
    /// End with the evidence
    Stop,
    /// Make the step again in 2, 4, 8, ... parts, whose gradients are added up
    Shrink,
    /// Move what is live together and make the step again, once
    Compact,
}

/// `plimsoll place`
///
/// Exit codes: 0 fits the capacity or the pages (or neither was given), 1 does not fit, 2 bad input.
#[derive(Args)]
pub struct Place {
    /// CSV with a header and the columns id, lower, upper, size; a buffer lives from lower to just before upper
    #[arg(value_name = "PROBLEM")]
    pub problem: PathBuf,
    /// What everything should fit into, such as 1MiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub capacity: Option<Bytes>,
    /// How many nodes an exact search may visit where the quick way misses the capacity, or without one the floor
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub nodes: u64,
    /// Place into pages of at most this size instead of one piece of memory; no buffer lies across two pages
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["capacity", "nodes"])]
    pub page_size: Option<Bytes>,
    /// What offsets in a page are multiples of: a power of two, such as 256
    #[arg(long, value_name = "SIZE", default_value = "1", value_parser = alignment, requires = "page_size")]
    pub alignment: Alignment,
    /// Print the problem with an offset for each buffer (and its page), as CSV
    #[arg(long, conflicts_with = "json")]
    pub offsets: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll devices`
///
/// Without --memory a device gets an automatic limit: what the cgroup and the available memory leave, minus a reserve of 5 % of that (at
/// least 256 MiB, at most half).
#[derive(Args)]
pub struct Devices {
    /// The limit of the host, or with --split what all its parts may come to
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// The logical devices to cut the host into, such as 1GiB,512MiB or left=1GiB,right=512MiB
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = part)]
    pub split: Vec<Part>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A logical device to be made; without a name it gets a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: Option<String>,
    /// Its limit.
    pub limit: Bytes,
}

/// `plimsoll replay`
#[derive(Args)]
pub struct Replay {
    /// A trace: what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a profile of TensorFlow's (.xplane.pb) or a
    /// memory snapshot of PyTorch's (.pickle), gzip or not; - for standard input
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

/// `plimsoll report`
///
/// The page is one file that needs no network. Logs of running out of memory make a page of their own, as `diagnose -o` does.
///
/// Exit codes: 0 shown, 1 a model does not fit --memory, 2 bad usage or input.
#[derive(Args)]
pub struct Report {
    /// What to show, side by side: a trace (what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a profile of TensorFlow's, a
    /// snapshot of PyTorch's), a plan that `plimsoll fit` wrote, or a log of running out of memory, gzip or not; - for standard input; or a
    /// model of the zoo, such as resnet50@64, which is planned
    #[arg(value_name = "TRACE|PLAN|LOG|MODEL", required = true)]
    pub inputs: Vec<String>,
    /// Where the page is written; - for standard output
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html", conflicts_with = "text")]
    pub output: PathBuf,
    /// Print text instead of writing a page
    #[arg(long)]
    pub text: bool,
    /// When text has colours: auto means on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true, value_parser = ["auto", "always", "never"], requires = "text")]
    pub color: String,
    /// What the inputs are called, in their order [default: their file names]
    #[arg(long, value_name = "NAME")]
    pub label: Vec<String>,
    /// The title of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// A line to draw into every chart: what may be taken [default: what the input says]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub limit: Option<Bytes>,
    /// Samples in a step of a model
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: usize,
    /// The most memory a model may take; more than it needs as written is saved by computing values again
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// The optimizer of a model
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = optimizer)]
    pub optimizer: Optimizer,
}

/// `plimsoll export`
#[derive(Args)]
pub struct Export {
    /// A trace: what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a profile of TensorFlow's (.xplane.pb) or a
    /// memory snapshot of PyTorch's (.pickle), gzip or not; - for standard input. For --to tensorflow, a plan that `plimsoll fit` wrote
    #[arg(value_name = "TRACE|PLAN")]
    pub input: String,
    /// What is written
    #[arg(long, value_name = "FORM", value_enum)]
    pub to: ExportForm,
    /// Where it is written; - for standard output; a folder, for tensorboard
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// What other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
    /// JSON for ui.perfetto.dev and chrome://tracing: counters by role, a slice for each buffer
    Perfetto,
    /// An event file with scalars of live MiB by role
    Tensorboard,
    /// One row a buffer: value, role, layer, op, bytes, offset, begin, end
    Csv,
    /// The text form of a trace, one line an event
    Text,
    /// The binary form of a trace, as `train --trace` writes it
    Binary,
    /// From a plan, a Python script for TensorFlow; one of Plimsoll's own plans is searched anew with TensorFlow's levers
    Tensorflow,
}

/// `plimsoll calibrate`
///
/// Runs small and large ops of every class for some seconds and keeps their prices in $XDG_CACHE_HOME/plimsoll or
/// ~/.cache/plimsoll, one file a number of threads. Best done while nothing else runs.
#[derive(Args)]
pub struct Calibrate {
    /// Threads that kernels run on [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll diagnose`
///
/// Exit codes: 0 diagnosed, 1 even a planned step of --model does not fit the limit, 2 no report in the input.
#[derive(Args)]
pub struct Diagnose {
    /// A log in which out-of-memory reports may be buried, or a PyTorch memory snapshot, gzip or not; - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// The model that ran, such as resnet50@224: says who the large chunks are, and plans a step that fits the limit
    #[arg(long, value_name = "MODEL", requires = "batch")]
    pub model: Option<String>,
    /// Samples in a step of that model
    #[arg(long, value_name = "N", requires = "model")]
    pub batch: Option<usize>,
    /// The optimizer of that model
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = optimizer)]
    pub optimizer: Optimizer,
    /// Write a page with the map of the pool, self-contained
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
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

/// The most samples in a step: which ones they are is noted beside the plan, so their number is bounded.
const MOST_SAMPLES: usize = 1 << 24;

fn batch(text: &str) -> Result<usize, String> {
    let samples = text.parse::<usize>().ok().filter(|&samples| samples <= MOST_SAMPLES);
    samples.ok_or_else(|| format!("it must be a number up to {MOST_SAMPLES}"))
}

fn alignment(text: &str) -> Result<Alignment, String> {
    Alignment::try_from(size(text)?.0)
}

fn part(text: &str) -> Result<Part, String> {
    match text.split_once('=') {
        Some((name, _)) if name.trim().is_empty() => Err("a name is missing before `=`".to_string()),
        Some((name, limit)) => Ok(Part { name: Some(name.trim().to_string()), limit: size(limit)? }),
        None => Ok(Part { name: None, limit: size(text)? }),
    }
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

fn foreign_mode(name: &str) -> Result<tensorflow::Mode, String> {
    let names = tensorflow::Mode::ALL.map(tensorflow::Mode::name).join(", ");
    tensorflow::Mode::parse(name)
        .ok_or_else(|| format!("there is no mode `{name}`\n  hint: the modes are {names}"))
}

fn precision(name: &str) -> Result<tensorflow::Precision, String> {
    let names = tensorflow::Precision::ALL.map(tensorflow::Precision::name).join(", ");
    tensorflow::Precision::parse(name)
        .ok_or_else(|| format!("there is no precision `{name}`\n  hint: the precisions are {names}"))
}

fn loss(name: &str) -> Result<Loss, String> {
    Loss::parse(name).ok_or_else(|| format!("there is no loss `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_a_size_and_may_have_a_name() {
        let named = Part { name: Some("left".to_string()), limit: Bytes::mib(512) };
        assert_eq!(part("left=512MiB"), Ok(named));
        assert_eq!(part("1GiB"), Ok(Part { name: None, limit: Bytes::mib(1024) }));
        for text in ["", "=1GiB", "left=", "left", "1GiB=left"] {
            assert!(part(text).is_err(), "{text}");
        }
    }
}
