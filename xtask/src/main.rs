//! `cargo xtask`: everything that CI runs, in one command, and the audits that are too long for it.

mod advisories;
mod arguments;
mod audit;
mod check;
mod fuzz;
mod licences;
mod program;
mod skips;
mod targets;

use arguments::Request;
use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = "\
Everything that CI runs, in one command; and what is too long for it.

Usage: cargo xtask check [--only PART]
       cargo xtask audit [--short] [--program PATH]
       cargo xtask fuzz [--short] [--cases N] [--seed N] [--program PATH]

audit runs the program on the zoo, on Keras files, at three budgets each, with lengths, depth, threads, saving,
loading and eager mode, and compares memory as seen from outside with what the README promises (some minutes).
fuzz gives it damaged files and hostile flags (10000 cases, some minutes). Both build the optimised program.

Parts, in the order they run; the first failure ends the check:
  fmt        the sources are formatted
  licences   every dependency has a licence that asks for no more than a notice
  advisories no dependency has a known hole (with cargo-audit where it is installed, else said)
  clippy     no warnings, in tests too
  test       all tests (with nextest where it is installed); `tidy` is one of them
  doc        the documentation builds without warnings
  audit      the short form of the audit
  fuzz       300 cases
  targets    the program type-checks for macOS and Windows (where rustup has or gets their libraries, else said)

Options:
  --only PART   run this part alone
  --short       the few cases that CI runs, on the program that the tests have built
  --cases N     so many cases
  --seed N      other cases
  --program PATH  this program instead of one that is built
  -h, --help    print this text

Exit codes: 0 all is well, 1 a part failed, 2 bad usage";

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(("measure", rest)) =
        words.split_first().and_then(|(first, rest)| Some((first.to_str()?, rest)))
    {
        return program::measure(rest);
    }
    match arguments::parse(std::env::args().skip(1)) {
        Ok(Request::Help) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Request::Check(parts)) => check::run(&parts),
        Ok(Request::Licences) => verdict(licences::are_allowed()),
        Ok(Request::Advisories) => verdict(advisories::are_none()),
        Ok(Request::Targets) => verdict(targets::check()),
        Ok(Request::Audit { short, which }) => verdict(audit::run(short, &which)),
        Ok(Request::Fuzz(cases)) => verdict(fuzz::run(&cases)),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
