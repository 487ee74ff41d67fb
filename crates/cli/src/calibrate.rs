//! `plimsoll calibrate`: measures the machine, shows what each class of ops costs, and keeps it.

use crate::failure::Failure;
use crate::output;
use crate::table::Table;
use crate::terminal;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use plimsoll::CalibrateRequest;
use plimsoll::plan::Profile;
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
    let request = CalibrateRequest { threads: arguments.threads.map(usize::from) };
    // Only what has begun is told: a profile that cannot be kept is refused first.
    let mut begun: Option<ProgressBar> = None;
    let mut told = Instant::now();
    let measured = request.run(|done, all| {
        let bar = begun.get_or_insert_with(|| progress(request.threads()));
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        if bar.is_hidden() && told.elapsed() >= BETWEEN_LINES {
            output::tell(format!("measured {done} of {all} ops"));
            told = Instant::now();
        }
    });
    if let Some(bar) = begun {
        bar.finish_and_clear();
    }
    let report = measured?;
    output::report(arguments.json, &report, || {
        format!("{}\n\nwrote {}", as_text(&report.profile), report.path.display())
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
