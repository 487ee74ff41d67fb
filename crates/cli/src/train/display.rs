//! What happens during a run, on stderr: a progress bar on a terminal, plain lines now and then elsewhere.

use crate::{output, terminal};
use indicatif::{ProgressBar, ProgressStyle};
use plimsoll::graph::samples::Mixing;
use plimsoll::trace::visible;
use plimsoll::{Happening, Progress};
use std::time::{Duration, Instant};

/// How many lines a run prints where there is no bar, and how long it is silent at most.
const LINES: u64 = 10;
const SILENT: Duration = Duration::from_secs(30);

/// Shows where a run is.
pub(super) struct Display {
    bar: ProgressBar,
    every: u64,
    plain: bool,
    /// When the last line was printed.
    told: Instant,
    /// Whether it was said that parts are not the same as a whole step.
    warned: bool,
}

impl Display {
    pub(super) fn new(steps: u64) -> Self {
        let plain = !terminal::is_rewritable();
        let bar = if plain { ProgressBar::hidden() } else { ProgressBar::new(steps) };
        let style = ProgressStyle::with_template(template(terminal::progress_columns()));
        bar.set_style(style.expect("the template is right").progress_chars("█▉▊▋▌▍▎▏ "));
        Self { bar, every: steps.div_ceil(LINES), plain, told: Instant::now(), warned: false }
    }

    pub(super) fn show(&mut self, happening: Happening) {
        match happening {
            Happening::Step(progress) => self.step(progress),
            Happening::Parts { step, parts, mixing } => self.parts(step, parts, mixing.as_ref()),
            Happening::Recorded(Ok(events)) => {
                self.tell(&format!("recorded {events} events, and which steps repeat them"));
            }
            Happening::Recorded(Err(error)) => {
                self.tell(&format!("warning: the trace could not be written to its end: {error}"));
            }
            Happening::Saved(path) => self.tell(&format!("wrote {}", path.display())),
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn step(&mut self, progress: Progress) {
        let message = visible::line(&message(&progress)).into_owned();
        let due = progress.step.is_multiple_of(self.every) || self.told.elapsed() >= SILENT;
        if self.plain && (due || progress.step == progress.steps) {
            self.told = Instant::now();
            output::tell(format!("step {}/{} · {message}", progress.step, progress.steps));
        }
        self.bar.set_message(message);
        self.bar.set_position(progress.step);
    }

    fn parts(&mut self, step: u64, parts: usize, mixing: Option<&Mixing>) {
        self.tell(&format!("step {step} ran out of memory; from here on steps are made in {parts} parts"));
        if let Some(mixing) = mixing.filter(|_| !self.warned) {
            self.warned = true;
            self.tell(&format!(
                "warning: {mixing} sees all samples of a batch, so a step in parts is not the same as a whole one"
            ));
        }
    }

    fn tell(&self, line: &str) {
        self.bar.suspend(|| output::tell(visible::line(line)));
    }
}

/// What a line of so many characters shows; the message gets what is left and is cut there.
fn template(columns: usize) -> &'static str {
    match columns {
        ..60 => "{pos}/{len} · {wide_msg}",
        60..100 => "{bar:16} {pos}/{len} steps · {eta} left · {wide_msg}",
        _ => "{bar:32} {pos}/{len} steps · {eta} left · {wide_msg}",
    }
}

/// The loss, and the accuracy of each output that has classes.
fn message(progress: &Progress) -> String {
    let mut message = format!("loss {:.4}", progress.loss);
    let alone = progress.heads.len() == 1;
    for head in &progress.heads {
        let Some(share) = head.accuracy else { continue };
        let of = if alone { String::new() } else { format!(" of {}", head.output) };
        message += &format!(" · accuracy{of} {:.1} %", 100.0 * share);
    }
    message
}
