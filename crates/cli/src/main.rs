//! The `plimsoll` command. stdout carries data, stderr everything else; an error is printed once, here.
//!
//! Exit codes: 0 done or fits, 1 does not fit or found a problem, 2 bad usage or input. A reader of stdout who stops
//! early (`| head`) changes nothing about them.

mod calibrate;
mod data;
mod devices;
mod diagnose;
mod export;
mod failure;
mod fit;
mod foreign;
mod inspect;
mod notes;
mod output;
mod place;
mod recording;
mod replay;
mod report;
mod searching;
mod size;
mod step;
mod table;
mod terminal;
mod train;
mod wording;
mod zoo;

use clap::{Error, Parser, Subcommand};
use failure::Failure;
use plimsoll::report::chart;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(error) => return told(&error),
    };
    match command.run() {
        Ok(code) => code,
        Err(failure) => failure.report(command.wants_json()),
    }
}

/// Help on standard output, or what is wrong with the arguments.
fn told(error: &Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return match output::text(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(false),
        };
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        return Failure::of_usage(&text).report(true);
    }
    output::tell(text.trim_end());
    ExitCode::from(2)
}

/// Trains deep-learning models inside a memory budget, with a peak that is known before the first step.
#[derive(Parser)]
#[command(name = "plimsoll", version, max_term_width = 100, disable_help_subcommand = true)]
struct Arguments {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

/// The verbs.
#[derive(Subcommand)]
enum Command {
    /// Show where the memory of a training step goes: by role, by layer, over time
    Inspect(inspect::Inspect),
    /// Find the fastest training step that fits a number of bytes, and write it as a plan
    ///
    /// What computes the same is used unasked: another order of ops, results written over their inputs, weights updated
    /// as soon as their gradient is there, values dropped and computed again (recompute; also called activation
    /// checkpointing, gradient checkpointing or rematerialization), and micro-batches (gradient accumulation) where
    /// samples of a batch do not see each other. What changes the numbers is used if --allow names it.
    ///
    /// Exit codes: 0 fits, 1 does not fit, 2 bad usage or input.
    Fit(fit::Fit),
    /// Replay a recorded trace through other allocators: what each needs, and where it runs out
    Replay(replay::Replay),
    /// Show plans, traces and models as one HTML page, or as text: memory over time, layout, who is live, layers; side
    /// by side
    ///
    /// The page is one file that needs no network. Logs of running out of memory make a page of their own, as
    /// `diagnose -o` does.
    ///
    /// Exit codes: 0 shown, 1 a model does not fit --memory, 2 bad usage or input.
    Report(report::Report),
    /// Write a recorded trace for another tool (Perfetto, TensorBoard, a spreadsheet), or a plan as a script for
    /// TensorFlow
    Export(export::Export),
    /// Find out why memory ran out (OOM), from the log: TensorFlow's, XLA's, PyTorch's or our own; and what would help
    Diagnose(diagnose::Diagnose),
    /// Train a model inside a memory budget
    ///
    /// With --memory the step is planned to fit: as far as it takes, values are dropped and computed again (activation
    /// checkpointing, rematerialization) and the batch is cut into micro-batches (gradient accumulation). A budget that
    /// cannot be met is refused before the first step, not by an OOM in the middle of the run.
    ///
    /// Exit codes: 0 trained, 1 does not fit or ran out of memory, 2 bad usage or input.
    Train(Box<train::Train>),
    /// Show what is in a folder or file of data: samples, classes, what is broken, and how fast it can be read
    ///
    /// Exit codes: 0 all can be read, 1 some samples are broken, 2 bad usage or input.
    Data(data::Data),
    /// Place the buffers of a layout problem in as little memory as possible, and draw them
    Place(place::Place),
    /// Show the devices, their limits and how much of each is free
    Devices(devices::Devices),
    /// Measure how fast this machine runs each class of ops, once, so that times can be predicted
    ///
    /// Runs small and large ops of every class for some seconds and keeps their prices in $XDG_CACHE_HOME/plimsoll or
    /// ~/.cache/plimsoll, one file a number of threads. Best done while nothing else runs.
    Calibrate(calibrate::Calibrate),
    /// List the models that can be named
    Zoo(zoo::Zoo),
}

impl Command {
    fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Inspect(arguments) => inspect::run(arguments),
            Self::Fit(arguments) => fit::run(arguments),
            Self::Replay(arguments) => replay::run(arguments),
            Self::Report(arguments) => report::run(arguments),
            Self::Export(arguments) => export::run(arguments),
            Self::Diagnose(arguments) => diagnose::run(arguments),
            Self::Train(arguments) => train::run(arguments),
            Self::Data(arguments) => data::run(arguments),
            Self::Place(arguments) => place::run(arguments),
            Self::Devices(arguments) => devices::run(arguments),
            Self::Calibrate(arguments) => calibrate::run(arguments),
            Self::Zoo(arguments) => zoo::run(arguments),
        }
    }

    /// Whether one JSON object is wanted on stdout, of a failure too.
    fn wants_json(&self) -> bool {
        match self {
            Self::Inspect(arguments) => arguments.step.json,
            Self::Fit(arguments) => arguments.step.json,
            Self::Replay(arguments) => arguments.json,
            Self::Diagnose(arguments) => arguments.json,
            Self::Train(arguments) => arguments.step.json,
            Self::Data(arguments) => arguments.json,
            Self::Place(arguments) => arguments.json,
            Self::Devices(arguments) => arguments.json,
            Self::Calibrate(arguments) => arguments.json,
            Self::Zoo(arguments) => arguments.json,
            Self::Export(arguments) => arguments.json,
            Self::Report(arguments) => arguments.json,
        }
    }
}
