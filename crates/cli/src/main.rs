//! The `plimsoll` command. stdout carries data, stderr everything else; an error is printed once, here.
//!
//! Exit codes: 0 done or fits, 1 does not fit or found a problem, 2 bad usage or input.

mod arguments;
mod calibrate;
mod devices;
mod diagnose;
mod export;
mod failure;
mod fit;
mod inspect;
mod place;
mod recording;
mod replay;
mod report;
mod specification;
mod train;
mod zoo;

use arguments::{Arguments, Command};
use clap::Parser;
use plimsoll::report::{chart, table};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Diagnose(arguments) => diagnose::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
        Command::Place(arguments) => place::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Zoo(arguments) => zoo::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
