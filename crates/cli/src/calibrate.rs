//! `plimsoll calibrate`: measures the machine, shows what each class of ops costs, and keeps it.

use crate::failure::Failure;
use crate::output;
use crate::table::Table;
use crate::terminal;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use plimsoll::ProfileCache;
use plimsoll::calibrate::{Thoroughness, calibrate};
use plimsoll::plan::Profile;
use serde_json::{Value, json};
use std::io::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// `plimsoll calibrate`
#[derive(Args)]
pub struct Calibrate {
    /// Threads that kernels run on [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=plimsoll::MOST_THREADS as i64))]
    pub threads: Option<u16>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// How often a line is printed where there is no bar.
const BETWEEN_LINES: Duration = Duration::from_secs(2);

/// Runs the command.
pub fn run(arguments: &Calibrate) -> Result<ExitCode, Failure> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.map_or(all, usize::from);
    let cache = ProfileCache::of_user().ok_or_else(|| {
        let hint = "set HOME, or XDG_CACHE_HOME to a directory that can be written".to_string();
        Failure::usage("there is no directory to keep the profile in", Some(hint))
    })?;
    let unwritable = |error: Error| {
        let hint = "XDG_CACHE_HOME names another place for it".to_string();
        Failure::usage(format!("cannot write to {}: {error}", cache.directory().display()), Some(hint))
    };
    cache.check_writable().map_err(unwritable)?;
    let bar = progress(threads);
    let mut told = Instant::now();
    let measured = calibrate(threads, Thoroughness::default(), |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        if bar.is_hidden() && told.elapsed() >= BETWEEN_LINES {
            output::tell(format!("measured {done} of {all} ops"));
            told = Instant::now();
        }
    });
    bar.finish_and_clear();
    let profile = measured.map_err(|refused| Failure::problem(refused.to_string(), Some(refused.hint())))?;
    let path = cache.store(&profile).map_err(unwritable)?;
    output::report(arguments.json, &as_json(&profile, &path), || {
        format!("{}\n\nwrote {}", as_text(&profile), path.display())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A bar on a terminal, a line elsewhere.
fn progress(threads: usize) -> ProgressBar {
    if !terminal::is_rewritable() {
        output::tell(format!("measuring with {threads} threads"));
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("measuring {wide_bar} {pos}/{len} ops, {eta} left");
    ProgressBar::new(0).with_style(style.expect("the template is right"))
}

fn as_text(profile: &Profile) -> String {
    let head = ["class of ops", "an op", "GFLOP/s", "GB/s in cache", "GB/s in memory"];
    let mut table = (1..head.len()).fold(Table::new(head), Table::right);
    for (class, cost) in &profile.costs {
        let op = format!("{:.1} us", cost.op * 1e6);
        let rates = [cost.flop, cost.cached_byte, cost.memory_byte].map(rate);
        let [flops, cached, memory] = rates;
        table.row([class.to_string(), op, flops, cached, memory]);
    }
    let note = "an op takes the sum of its parts; - costs nothing of its own";
    format!("{} · {} threads\n\n{}\n\n{note}", profile.machine, profile.threads, table.print())
}

/// Billions a second of what costs so many seconds.
fn rate(price: f64) -> String {
    let rate = 1e-9 / price;
    match rate {
        _ if price <= 0.0 || rate >= 1e5 => "-".to_string(),
        _ if rate >= 99.5 => format!("{rate:.0}"),
        _ => format!("{rate:.1}"),
    }
}

fn as_json(profile: &Profile, path: &Path) -> Value {
    json!({ "path": path, "profile": profile })
}
