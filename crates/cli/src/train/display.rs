//! What happens during a run, on stderr: a progress bar on a terminal, a few plain lines elsewhere.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use plimsoll::graph::samples::Mixing;
use plimsoll::trace::visible;
use plimsoll::{Happening, Progress};
use std::io::IsTerminal;

/// How many lines a run prints where nobody watches.
const LINES: u64 = 10;

/// Shows where a run is.
pub(super) struct Display {
    bar: ProgressBar,
    every: u64,
    plain: bool,
    /// Whether it was said that parts are not the same as a whole step.
    warned: bool,
}

impl Display {
    pub(super) fn new(steps: u64) -> Self {
        let plain = !std::io::stderr().is_terminal();
        let bar = if plain { ProgressBar::hidden() } else { ProgressBar::new(steps) };
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len} steps · {msg} · {eta} left");
        bar.set_style(style.expect("the template is right").progress_chars("█▉▊▋▌▍▎▏ "));
        Self { bar, every: steps.div_ceil(LINES), plain, warned: false }
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

    fn step(&self, progress: Progress) {
        let message = visible::line(&message(&progress)).into_owned();
        if self.plain && (progress.step.is_multiple_of(self.every) || progress.step == progress.steps) {
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
