//! The way from a model as written to a plan, lever by lever.

use super::Stage;
use crate::prepared::Aim;
use crate::{Bytes, Job, JobError, Prepared};
use plimsoll_plan::{Options, Residents};
use std::collections::BTreeMap;

/// The way from the model as written to the plan.
pub(super) fn stages(job: &Job, plain: &Prepared, prepared: &Prepared) -> Result<Vec<Stage>, JobError> {
    let seconds = plain.seconds_as_written();
    let stage =
        |lever: &str, peak: Bytes| Stage { lever: lever.to_string(), peak, seconds, note: String::new() };
    let as_written = Options { in_place: false, update_when_ready: false };
    let ready = Options { update_when_ready: true, ..as_written };
    let mut stages = vec![
        stage("as written", plain.step_peak_with(as_written)),
        stage("update when ready", plain.step_peak_with(ready)),
        stage("in place", plain.step_peak_with(job.options)),
    ];
    let made = &prepared.job;
    if made.optimizer != job.optimizer {
        let changed = Job { optimizer: made.optimizer, ..job.clone() };
        stages.push(stage(&format!("optimizer {}", made.optimizer), changed.step_peak()?));
    }
    if made.batch != job.batch {
        let changed = Job { micro_batches: 1, ..made.clone() };
        stages.push(stage(&format!("batch {}", made.batch), changed.step_peak()?));
    }
    if made.micro_batches > 1 {
        let changed = Prepared::new(made, Aim::WHATEVER, &Residents::default())?;
        let (peak, seconds) = (changed.peak(), changed.seconds());
        let note =
            format!("{} samples at a time, gradients added up and applied at once", prepared.parts[0].rows);
        stages.push(Stage { lever: format!("{} micro-batches", made.micro_batches), peak, seconds, note });
    }
    if prepared.parts.iter().any(|part| part.again().next().is_some()) {
        let (peak, seconds) = (prepared.peak(), prepared.seconds());
        let note = format!("{}: {:.1} % more work", repeated(prepared), 100.0 * prepared.extra_flops());
        stages.push(Stage { lever: "recompute".to_string(), peak, seconds, note });
    }
    Ok(stages)
}

/// What runs again, the most frequent ops first.
fn repeated(prepared: &Prepared) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in prepared.parts[0].again() {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let named: Vec<String> = counts.iter().take(4).map(|(name, count)| format!("{count} {name}")).collect();
    let rest: usize = counts.iter().skip(4).map(|(_, count)| count).sum();
    let others = if rest > 0 { format!(", {rest} others") } else { String::new() };
    format!("{}{others} again", named.join(", "))
}
