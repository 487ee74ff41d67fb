//! The parts of the check: which commands they are, and how they run one after the other.

use crate::program::{root, succeeds_quietly};
use crate::skips;
use std::fmt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Runs `parts` in order, up to the first failure, and sums up.
pub(crate) fn run(parts: &[Part]) -> ExitCode {
    let nextest = succeeds_quietly(&mut Invocation::new("nextest --version").command());
    let outcomes = run_parts(parts, nextest, Invocation::succeeds);
    let failed = outcomes.iter().find_map(|outcome| outcome.failed.as_ref());
    if let Some(invocation) = failed {
        eprintln!("\nfailed; to repeat it:\n  {invocation}");
    }
    println!();
    for outcome in &outcomes {
        println!("{outcome}");
    }
    for part in &parts[outcomes.len()..] {
        println!("{:<10} not run", part.name());
    }
    if parts.contains(&Part::Test) {
        skips::list().iter().for_each(|skip| println!("{skip}"));
    }
    if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// One part of the check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    Fmt,
    Licences,
    Advisories,
    Clippy,
    Test,
    Audit,
    Fuzz,
    Doc,
    Targets,
}

impl Part {
    /// The parts in the order they run: those that fail fast stand first.
    pub(crate) const ALL: [Part; 9] = [
        Part::Fmt,
        Part::Licences,
        Part::Advisories,
        Part::Clippy,
        Part::Test,
        Part::Audit,
        Part::Fuzz,
        Part::Doc,
        Part::Targets,
    ];

    /// The word that follows `--only`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Fmt => "fmt",
            Part::Licences => "licences",
            Part::Advisories => "advisories",
            Part::Clippy => "clippy",
            Part::Test => "test",
            Part::Audit => "audit",
            Part::Fuzz => "fuzz",
            Part::Doc => "doc",
            Part::Targets => "targets",
        }
    }

    fn invocations(self, nextest: bool) -> Vec<Invocation> {
        match self {
            Part::Licences => vec![Invocation::new("xtask licences")],
            Part::Advisories => vec![Invocation::new("xtask advisories")],
            Part::Audit => vec![Invocation::new("xtask audit --short")],
            Part::Fuzz => vec![Invocation::new("xtask fuzz --short")],
            Part::Targets => vec![Invocation::new("xtask targets")],
            Part::Fmt => vec![Invocation::new("fmt --all --check")],
            Part::Clippy => vec![
                Invocation::new("clippy --locked --workspace --all-targets -- -D warnings"),
                // The library without HDF5 and reports, for who needs neither.
                Invocation::new("clippy --locked --package plimsoll --no-default-features -- -D warnings"),
            ],
            // nextest runs tests of different crates at the same time, but no documentation tests.
            Part::Test if nextest => vec![
                Invocation::new("nextest run --locked --workspace"),
                Invocation::new("test --locked --workspace --doc"),
                Invocation::model_check(),
            ],
            Part::Test => vec![Invocation::new("test --locked --workspace"), Invocation::model_check()],
            Part::Doc => vec![
                Invocation::new("doc --locked --workspace --no-deps")
                    .with_variable("RUSTDOCFLAGS", "-D warnings"),
            ],
        }
    }
}

/// A call of cargo at the root of the repository.
#[derive(Clone, Debug, PartialEq)]
struct Invocation {
    /// What follows `cargo`; no argument contains a space.
    line: &'static str,
    /// An environment variable and its value.
    variable: Option<(&'static str, &'static str)>,
}

impl Invocation {
    fn new(line: &'static str) -> Self {
        Self { line, variable: None }
    }

    /// All orders of threads, tried by loom. Its own target folder keeps other builds from being done again for its
    /// flags.
    fn model_check() -> Self {
        Self::new(
            "test --locked --package plimsoll-memory --test shared_loom --release --target-dir target/loom",
        )
        .with_variable("RUSTFLAGS", "--cfg loom")
    }

    fn with_variable(self, name: &'static str, value: &'static str) -> Self {
        Self { variable: Some((name, value)), ..self }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(root()).args(self.line.split_whitespace()).envs(self.variable);
        command
    }

    fn succeeds(&self) -> bool {
        match self.command().status() {
            Ok(status) => status.success(),
            Err(error) => {
                eprintln!("error: cargo does not start: {error}");
                false
            }
        }
    }
}

/// As one types it into a shell.
impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, value)) = self.variable {
            write!(f, "{name}=\"{value}\" ")?;
        }
        write!(f, "cargo {}", self.line)
    }
}

/// How a part ended.
struct Outcome {
    part: Part,
    elapsed: Duration,
    /// The command that failed.
    failed: Option<Invocation>,
}

/// One line of the summary.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.failed.is_some() { "FAILED" } else { "ok" };
        write!(f, "{:<10} {verdict:<7} {:>7.1} s", self.part.name(), self.elapsed.as_secs_f64())
    }
}

/// The outcomes of the parts that ran: all of them, or those up to the first failure.
fn run_parts(parts: &[Part], nextest: bool, succeeds: impl Fn(&Invocation) -> bool) -> Vec<Outcome> {
    let start = Instant::now();
    let mut outcomes = Vec::new();
    for &part in parts {
        let part_start = Instant::now();
        let succeeds_under_headline = |invocation: &Invocation| {
            eprintln!("\n== {} · {:.1} s so far · {invocation}", part.name(), start.elapsed().as_secs_f64());
            succeeds(invocation)
        };
        let failed = part.invocations(nextest).into_iter().find(|step| !succeeds_under_headline(step));
        let stop = failed.is_some();
        outcomes.push(Outcome { part, elapsed: part_start.elapsed(), failed });
        if stop {
            break;
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const MODEL_CHECK: &str = "RUSTFLAGS=\"--cfg loom\" cargo test --locked --package plimsoll-memory --test shared_loom --release --target-dir target/loom";

    /// The commands that run, and the one that fails, where those that contain `fails` do.
    fn run_where(nextest: bool, fails: &str) -> (Vec<String>, Option<String>) {
        let ran = RefCell::new(Vec::new());
        let outcomes = run_parts(&Part::ALL, nextest, |invocation| {
            ran.borrow_mut().push(invocation.to_string());
            !invocation.line.contains(fails)
        });
        let failed = outcomes.last().and_then(|outcome| outcome.failed.as_ref()).map(Invocation::to_string);
        (ran.into_inner(), failed)
    }

    #[test]
    fn every_part_runs_in_order() {
        let expected = [
            "cargo fmt --all --check",
            "cargo xtask licences",
            "cargo xtask advisories",
            "cargo clippy --locked --workspace --all-targets -- -D warnings",
            "cargo clippy --locked --package plimsoll --no-default-features -- -D warnings",
            "cargo test --locked --workspace",
            MODEL_CHECK,
            "cargo xtask audit --short",
            "cargo xtask fuzz --short",
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --locked --workspace --no-deps",
            "cargo xtask targets",
        ];
        assert_eq!(run_where(false, "nothing"), (expected.map(str::to_owned).to_vec(), None));
    }

    #[test]
    fn nextest_leaves_documentation_tests_to_cargo() {
        let (ran, failed) = run_where(true, "nothing");
        let expected =
            ["cargo nextest run --locked --workspace", "cargo test --locked --workspace --doc", MODEL_CHECK];
        assert_eq!(ran[5..8], expected);
        assert_eq!((ran.len(), failed), (12, None));
    }

    #[test]
    fn the_first_failure_ends_the_check() {
        let (ran, failed) = run_where(true, "nextest");
        assert_eq!(ran.len(), 6);
        assert_eq!(failed.as_deref(), Some("cargo nextest run --locked --workspace"));
    }
}
