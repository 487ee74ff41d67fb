//! The program under test, built and run as users run it, and measured from outside.

use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A built `plimsoll`.
pub(crate) struct Program {
    path: PathBuf,
    /// This program, by the path it had before anything was built: a build may put another file there, and the system
    /// then says that the running one is deleted.
    measure: PathBuf,
}

/// What a run did, as seen from outside.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; none where a signal or the time limit ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed: Duration,
    pub(crate) timed_out: bool,
    /// The most bytes that were resident, as the system counts.
    pub(crate) resident: u64,
}

/// How much of the system a run may take.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    /// Address space in bytes; none leaves it open.
    pub(crate) address_space: Option<u64>,
}

/// Which program is meant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Which {
    /// The optimised one, as it is installed.
    Release,
    /// The one that the tests run: after them, nothing is built again.
    OfTests,
    /// One that stands here.
    At(PathBuf),
}

impl Program {
    /// Builds it where it is one of ours.
    pub(crate) fn get(which: &Which) -> Result<Self, String> {
        let measure = std::env::current_exe().map_err(|error| error.to_string())?;
        let path = match which {
            Which::Release => {
                built("build --locked --release --package plimsoll-cli", "target/release/plimsoll")?
            }
            Which::OfTests => built("test --locked --workspace --no-run", "target/debug/plimsoll")?,
            Which::At(path) => path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?,
        };
        Ok(Self { path, measure })
    }

    /// Runs it in a folder. Another process of ours starts it, so that the system's count of the children's memory is
    /// that of this run alone.
    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: &[S],
        folder: &Path,
        limits: Limits,
    ) -> io::Result<Ran> {
        let figures = folder.join(".figures.json");
        let mut measure = Command::new(&self.measure);
        measure.arg("measure").arg(&figures).arg(limits.time.as_millis().to_string());
        measure.arg(limits.address_space.map_or("unlimited".to_owned(), |bytes| (bytes >> 10).to_string()));
        measure.arg(&self.path).args(arguments).current_dir(folder).stdin(Stdio::null());
        let output = measure.output()?;
        let text = fs::read_to_string(&figures)?;
        fs::remove_file(&figures)?;
        let figures: Value = serde_json::from_str(&text)?;
        Ok(Ran {
            code: figures["code"].as_i64().map(|code| code as i32),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            elapsed: Duration::from_secs_f64(figures["seconds"].as_f64().unwrap_or(0.0)),
            timed_out: figures["timed_out"] == true,
            resident: figures["resident"].as_u64().unwrap_or(0),
        })
    }
}

/// Whether a command ends well.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// The same, and nothing is seen of it.
pub(crate) fn succeeds_quietly(command: &mut Command) -> bool {
    succeeds(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// The path of what cargo has built.
fn built(line: &str, path: &str) -> Result<PathBuf, String> {
    let built = Command::new("cargo").args(line.split_whitespace()).current_dir(root()).status();
    match built {
        Ok(status) if status.success() => Ok(root().join(path)),
        Ok(_) => Err(format!("cargo {line} failed")),
        Err(error) => Err(format!("cargo does not start: {error}")),
    }
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the repository")
}

/// `cargo xtask measure FILE MILLISECONDS KIBIBYTES PROGRAM ARGUMENTS...`, the other process: it runs one program and
/// writes what it took.
pub(crate) fn measure(arguments: &[std::ffi::OsString]) -> ExitCode {
    let [file, milliseconds, address_space, command @ ..] = arguments else { return ExitCode::from(2) };
    let limit =
        milliseconds.to_str().and_then(|text| text.parse().ok()).map_or(Duration::MAX, Duration::from_millis);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v \"$0\" && exec \"$@\""]).arg(address_space).args(command);
    let start = Instant::now();
    let Ok(mut child) = shell.spawn() else { return ExitCode::FAILURE };
    let mut timed_out = false;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.code(),
            Ok(None) if start.elapsed() < limit => sleep(Duration::from_millis(2)),
            _ => {
                timed_out = true;
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let figures = json!({"code": status, "seconds": seconds, "timed_out": timed_out, "resident": resident_of_children()});
    match fs::write(file, figures.to_string()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The most bytes that any process was resident with that this one has started and waited for.
#[cfg(unix)]
fn resident_of_children() -> u64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    // macOS counts in bytes.
    kibibytes as u64 * if cfg!(target_os = "macos") { 1 } else { 1024 }
}

#[cfg(not(unix))]
fn resident_of_children() -> u64 {
    0
}
