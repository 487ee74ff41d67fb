//! `plimsoll train`: a training run inside a memory budget.

mod display;
mod input;
mod memory_use;

pub use input::pixel_range;
pub use memory_use::Switch;

use crate::devices::part;
use crate::failure::Failure;
use crate::output::{self, Channel};
use crate::step::Step;
use crate::table::Table;
use crate::{notes, searching};
use clap::Args;
use display::Display;
use input::InputArguments;
use memory_use::MemoryArguments;
use plimsoll::reports::{InputReport, TrainReport};
use plimsoll::{Bytes, DeviceRequest, HeadScore, PartRequest, RunLength, StepSource, TrainRequest};
use std::path::PathBuf;
use std::process::ExitCode;

/// `plimsoll train`
#[derive(Args)]
#[command(mut_arg("model", |arg| arg.required(false).required_unless_present("plan")))]
pub struct Train {
    /// The step that is repeated.
    #[command(flatten)]
    pub step: Step,
    /// Run a plan that `plimsoll fit` wrote, instead of naming a model and its step
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "batch", "micro_batches", "optimizer", "loss", "on_nan", "threads", "mode", "lengths"])]
    plan: Option<PathBuf>,
    /// The device to train on (see `plimsoll devices`); without --memory its limit is what the cgroup and the available
    /// memory leave, minus a reserve of 5 % of that (at least 256 MiB, at most half)
    #[arg(long, value_name = "NAME", default_value = "host")]
    device: String,
    /// Cut the host into logical devices, such as 1GiB,512MiB, and train on the one that --device names [default: the
    /// first]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = part)]
    split: Vec<PartRequest>,
    /// Data of your own: a folder of images by class, a .csv, an .npz, MNIST's files, .tfrecord files, or a data.toml;
    /// or digits (embedded) or synthetic (random samples of what the model takes)
    #[arg(long, value_name = "PATH|NAME", default_value = "digits")]
    data: String,
    /// What else is said about data of one's own.
    #[command(flatten)]
    input: InputArguments,
    /// How often every sample is seen
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "steps")]
    epochs: u64,
    /// How many steps to make, instead of whole epochs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// How far each step goes, in the place of a schedule, too [default: what the model's file was compiled with, or
    /// what Keras uses for the optimizer]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    learning_rate: Option<f32>,
    /// Decides the first weights, the order of samples and what dropout drops
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write what was trained: out.safetensors has everything a run needs to go on, out.keras is the model's own Keras
    /// file with the new weights
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Go on from a state that --save wrote, until there are --steps or --epochs in all; or begin with the weights of
    /// another safetensors file
    #[arg(long, value_name = "FILE.safetensors")]
    from: Option<PathBuf>,
    /// Overwrite freed memory with NaNs, to show that nobody reads it
    #[arg(long)]
    poison: bool,
    /// Record what happens to memory, for `plimsoll report`, `export` and `replay`; costs next to nothing; - for
    /// standard output
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How tensors get their memory.
    #[command(flatten)]
    memory_use: MemoryArguments,
}

/// Runs the command.
pub fn run(arguments: &Train) -> Result<ExitCode, Failure> {
    let channel = Channel::beside(&[arguments.trace.as_deref()], arguments.step.json)?;
    let request = arguments.request()?;
    notes::tell(&request.notes());
    let opened = request.open();
    searching::clear();
    let run = opened?;
    notes::tell(run.notes());
    let (headline, data) = (run.prepared()[0].headline(), run.data());
    output::tell(format!("{headline} · {} samples of {}", data.train.count(), data.name));
    run.own_data().iter().flat_map(|own| &own.said).for_each(output::tell);
    let (peak, limit) = (run.planned_peak(), run.device().limit());
    let automatic = arguments.step.memory.is_none() && arguments.split.is_empty();
    let source = if automatic { " (automatic limit)" } else { "" };
    let beside =
        run.own_data().map(|own| format!(", and {} to read data with", own.memory())).unwrap_or_default();
    output::tell(format!("planned peak {peak} ({} bytes) of {limit}{source}{beside}", peak.0));
    let mut display = Display::new(run.settings().steps);
    let report = run.train(|happening| display.show(happening));
    display.finish();
    let report = report?;
    channel.report(arguments.step.json, &report, || as_text(&report))?;
    Ok(ExitCode::SUCCESS)
}

impl Train {
    fn request(&self) -> Result<TrainRequest, Failure> {
        let step = match &self.plan {
            Some(path) => StepSource::Plan(path.clone()),
            None => StepSource::Job(self.step.request()),
        };
        let (name, split) = (self.device.clone(), self.split.clone());
        let growth = self.memory_use.device_growth();
        Ok(TrainRequest {
            step,
            device: DeviceRequest { name, memory: self.step.memory, split, growth },
            data: self.data.clone(),
            input: self.input.request(),
            length: self.steps.map_or(RunLength::Epochs(self.epochs), RunLength::Steps),
            learning_rate: self.learning_rate,
            seed: self.seed,
            memory_use: self.memory_use.request()?,
            lengths: self.memory_use.lengths(),
            from: self.from.clone(),
            save: self.save.clone(),
            trace: self.trace.clone(),
            poison: self.poison,
        })
    }
}

fn as_text(report: &TrainReport) -> String {
    let planned = report.planned_peak_bytes;
    let mut table = Table::new(["planned peak", &planned.to_string(), &bytes(planned)]).right(1).list();
    let mut row = |name: &str, figure: String, note: String| table.row([name.to_string(), figure, note]);
    match report.mode {
        "eager" => add_pool(report, &mut row),
        _ => {
            let measured = report.measured_peak_bytes;
            row("measured peak", measured.to_string(), format!("{}, equal", bytes(measured)));
        }
    }
    if let Some(resident) = report.peak_rss_bytes {
        row("whole process", resident.to_string(), "resident at most, as the system counts".to_string());
    }
    row("steps", report.steps.to_string(), format!("{:.2} ms each", 1e3 * report.seconds_per_step));
    if report.skipped_steps > 0 {
        let why = "changed nothing: their loss or gradients were not finite".to_string();
        row("skipped", report.skipped_steps.to_string(), why);
    }
    report.input.iter().for_each(|input| add_input(input, &mut row));
    let accuracy = report.test_heads.is_none();
    add_scores(&mut row, report.loss, &report.heads, accuracy, "of the last step");
    if let (Some(loss), Some(heads)) = (report.test_loss, &report.test_heads) {
        add_scores(&mut row, loss, heads, true, "of test samples it has not seen");
    }
    table.print()
}

/// The loss, and what is known about each output.
fn add_scores(
    row: &mut dyn FnMut(&str, String, String),
    loss: f32,
    heads: &[HeadScore],
    with_accuracy: bool,
    of: &str,
) {
    row("loss", format!("{loss:.4}"), of.to_string());
    let alone = heads.len() == 1;
    for head in heads {
        let name = |what: &str| if alone { what.to_string() } else { format!("{what} of {}", head.output) };
        if !alone {
            row(&name("loss"), format!("{:.4}", head.loss), of.to_string());
        }
        if let Some(accuracy) = head.accuracy.filter(|_| with_accuracy) {
            row(&name("accuracy"), format!("{:.2} %", 100.0 * accuracy), of.to_string());
        }
    }
}

/// What reading data of one's own came to.
fn add_input(input: &InputReport, row: &mut dyn FnMut(&str, String, String)) {
    row("input memory", input.peak_bytes.to_string(), format!("at most, of {}", input.memory_bytes));
    let share = format!("{:.1} %", 100.0 * input.waited_share);
    row("waited for input", share, format!("of the steps' time; it is mostly {}", input.mostly));
    if let Some(first) = input.left_out.first() {
        row(
            "left out",
            input.left_out_count.to_string(),
            format!("samples that cannot be read, such as {first}"),
        );
    }
}

/// What the pool of an eager run was used for.
fn add_pool(report: &TrainReport, row: &mut dyn FnMut(&str, String, String)) {
    let planned = report.planned_peak_bytes.0 as f64;
    let peaks = [("peak in use", report.peak_in_use_bytes), ("peak reserved", report.peak_reserved_bytes)];
    for (name, size) in peaks {
        let size = size.unwrap_or_default();
        row(name, size.to_string(), format!("{}, {:.2} x the plan", bytes(size), size.0 as f64 / planned));
    }
    let share = format!("{:.1} %", 100.0 * report.worst_fragmentation.unwrap_or_default());
    let allocator = report.allocator.unwrap_or_default();
    row("worst fragmentation", share, format!("of the free bytes not in one piece, with {allocator}"));
    let counts = [
        ("shrunk steps", report.shrunk_steps, "made in parts, for want of memory"),
        ("compactions", report.compactions, "that moved live blocks together"),
    ];
    for (name, count, note) in counts {
        if let Some(count) = count.filter(|count| *count > 0) {
            row(name, count.to_string(), note.to_string());
        }
    }
}

fn bytes(size: Bytes) -> String {
    format!("{} bytes", size.0)
}
