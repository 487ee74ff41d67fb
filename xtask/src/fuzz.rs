//! `cargo xtask fuzz`: damaged files and hostile flags, thousands of them, against the program as a whole.
//!
//! Whatever it is given, the program ends by itself within [`TIME`], with one of its own exit codes, and says nothing
//! of a panic. Every case has a number; the same seed gives the same cases on every machine.

mod files;
mod flags;
mod random;

use crate::program::{Limits, Program, Ran, Which, root};
use random::Random;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The stated time: no input keeps the program longer. (Cases train one step at most.)
pub(crate) const TIME: Duration = Duration::from_secs(20);

/// More than any case needs, and little enough for any machine.
const LIMITS: Limits = Limits { time: TIME, address_space: Some(6 << 30) };

/// Which cases to run.
#[derive(Debug, PartialEq)]
pub(crate) struct Cases {
    pub(crate) count: u64,
    pub(crate) seed: u64,
    pub(crate) which: Which,
}

/// Runs the cases and says whether the program held in all of them.
pub(crate) fn run(cases: &Cases) -> bool {
    match run_all(cases) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

fn run_all(cases: &Cases) -> Result<u64, String> {
    let program = Program::get(&cases.which)?;
    let folder = root().join("target/fuzz");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let files = files::sources()?;
    let commands = flags::commands(|arguments| help(&program, &folder, arguments))?;
    let mut tally = Tally::default();
    for number in 0..cases.count {
        let mut random = Random::new(cases.seed, number);
        let arguments = match random.below(3) {
            0 => commands[random.below(commands.len())].hostile(&mut random),
            _ => files[random.below(files.len())].damaged_in(&folder, &mut random)?,
        };
        let ran = program.run(&arguments, &folder, LIMITS).map_err(|error| error.to_string())?;
        let failure = failure(&ran);
        tally.count(&ran, failure.is_some());
        if let Some(failure) = failure {
            report(cases.seed, number, &arguments, &failure);
            files::keep(&folder, number);
        }
        if number % 1000 == 999 {
            println!("{tally}");
        }
    }
    println!("{tally}; seed {}", cases.seed);
    Ok(tally.failures)
}

/// How cases ended so far.
#[derive(Default)]
struct Tally {
    /// By the exit codes 0, 1 and 2.
    codes: [u64; 3],
    failures: u64,
    slowest: Duration,
}

impl Tally {
    fn count(&mut self, ran: &Ran, failed: bool) {
        match ran.code.and_then(|code| self.codes.get_mut(usize::try_from(code).ok()?)) {
            Some(count) if !failed => *count += 1,
            _ => self.failures += 1,
        }
        self.slowest = self.slowest.max(ran.elapsed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([done, unfit, refused], failures) = (self.codes, self.failures);
        let cases = done + unfit + refused + failures;
        write!(f, "{cases} cases: {done} done, {unfit} do not fit or have a problem, {refused} refused, ")?;
        write!(f, "{failures} failures; slowest {:.1} s", self.slowest.as_secs_f64())
    }
}

/// What is wrong with the way a run ended.
fn failure(ran: &Ran) -> Option<String> {
    let panicked =
        ran.stderr.lines().find(|line| line.contains("panicked at") || line.contains("memory allocation of"));
    match ran.code {
        _ if ran.timed_out => Some(format!("not done after {} s", TIME.as_secs())),
        _ if panicked.is_some() => panicked.map(str::to_owned),
        Some(0..=2) => None,
        Some(code) => Some(format!("exit code {code}")),
        None => Some("ended by a signal".to_owned()),
    }
}

fn report(seed: u64, number: u64, arguments: &[OsString], failure: &str) {
    let line: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    println!("case {seed}:{number}: {failure}\n  plimsoll {}", line.join(" ").escape_debug());
}

fn help(program: &Program, folder: &Path, arguments: &[&str]) -> Result<String, String> {
    program.run(arguments, folder, LIMITS).map(|ran| ran.stdout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_signals_and_hangs_are_failures() {
        let ran = |code, stderr: &str, timed_out| Ran {
            code,
            stdout: String::new(),
            stderr: stderr.to_owned(),
            elapsed: Duration::ZERO,
            timed_out,
            resident: 0,
        };
        assert_eq!(failure(&ran(Some(2), "error: no", false)), None);
        assert!(failure(&ran(Some(101), "thread 'main' panicked at x", false)).is_some());
        assert!(failure(&ran(Some(1), "thread 'x' panicked at x", false)).is_some());
        assert!(failure(&ran(Some(7), "", false)).is_some());
        assert!(failure(&ran(None, "", false)).is_some());
        assert!(failure(&ran(Some(0), "", true)).is_some());
    }
}
