//! `cargo xtask check`: everything that CI runs, in one command.

mod advisories;
mod arguments;
mod check;
mod licences;
mod targets;

use arguments::Request;
use std::process::ExitCode;

const HELP: &str = "\
Everything that CI runs, in one command.

Usage: cargo xtask check [--only PART]

Parts, in the order they run; the first failure ends the check:
  fmt        the sources are formatted
  licences   every dependency has a licence that asks for no more than a notice
  advisories no dependency has a known hole (with cargo-audit where it is installed, else said)
  clippy     no warnings, in tests too
  test       all tests (with nextest where it is installed); `tidy` is one of them
  doc        the documentation builds without warnings
  targets    the program type-checks for macOS and Windows (where rustup has or gets their libraries, else said)

Options:
  --only PART   run this part alone
  -h, --help    print this text

Exit codes: 0 all is well, 1 a part failed, 2 bad usage";

fn main() -> ExitCode {
    match arguments::parse(std::env::args().skip(1)) {
        Ok(Request::Help) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Request::Check(parts)) => check::run(&parts),
        Ok(Request::Licences) => verdict(licences::are_allowed()),
        Ok(Request::Advisories) => verdict(advisories::are_none()),
        Ok(Request::Targets) => verdict(targets::check()),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
