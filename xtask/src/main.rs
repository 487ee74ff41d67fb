//! `cargo xtask check`: everything that CI runs, in one command.

mod arguments;
mod check;

use arguments::Request;
use std::process::ExitCode;

const HELP: &str = "\
Everything that CI runs, in one command.

Usage: cargo xtask check [--only PART]

Parts, in the order they run; the first failure ends the check:
  fmt      the sources are formatted
  clippy   no warnings, in tests too
  test     all tests (with nextest where it is installed); `tidy` is one of them
  doc      the documentation builds without warnings

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
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
