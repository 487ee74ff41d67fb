//! The way from a model as written to a plan, lever by lever.

use super::Stage;
use crate::planning::Aim;
use crate::{Bytes, Job, JobError, Prepared};
use plimsoll_plan::{Options, Residents};
use plimsoll_train::lever::{Cost, Home};
use plimsoll_train::{Change, Lever};
use std::collections::BTreeMap;

/// No lever of a plan is pulled.
const AS_WRITTEN: Options = Options { in_place: false, update_when_ready: false };

/// The way from the model as written to the plan: first what costs nothing, then what changes numbers, and what costs
/// time as the last, because how much of it is needed follows from the others.
pub(super) fn stages(job: &Job, plain: &Prepared, prepared: &Prepared) -> Result<Vec<Stage>, JobError> {
    let mut levers: Vec<Lever> = Lever::of(Home::Plimsoll).collect();
    levers.sort_by_key(|lever| match lever.facts().cost {
        Cost::Nothing => 0,
        Cost::Numbers => 1,
        Cost::Time => 2,
    });
    let way = Way { job, plain, prepared };
    let mut stages = vec![way.stage(None, plain.step_peak_with(AS_WRITTEN))];
    for lever in levers {
        stages.extend(way.after(lever)?);
    }
    Ok(stages)
}

/// Where the way begins and ends.
struct Way<'a> {
    job: &'a Job,
    plain: &'a Prepared,
    prepared: &'a Prepared,
}

impl Way<'_> {
    fn stage(&self, change: Option<Change>, peak: Bytes) -> Stage {
        Stage { change, peak, seconds: self.plain.seconds_as_written(), note: String::new() }
    }

    /// The step after a lever, and those before it, where it was pulled.
    fn after(&self, lever: Lever) -> Result<Option<Stage>, JobError> {
        let Self { job, plain, prepared } = self;
        let (made, options) = (&prepared.job, job.options);
        let ready = Options { in_place: false, ..options };
        let stage = |change: Change, peak: Bytes| Some(self.stage(Some(change), peak));
        Ok(match lever {
            Lever::Ready if options.update_when_ready => {
                stage(Change::UpdateWhenReady, plain.step_peak_with(ready))
            }
            Lever::InPlace if options.in_place => stage(Change::InPlace, plain.step_peak_with(options)),
            Lever::Optimizer if made.optimizer != job.optimizer => {
                let changed = Job { optimizer: made.optimizer, ..(*job).clone() };
                stage(Change::Optimizer(made.optimizer), changed.step_peak()?)
            }
            Lever::Batch if made.batch != job.batch => {
                let changed = Job { micro_batches: 1, ..made.clone() };
                stage(Change::Batch(made.batch), changed.step_peak()?)
            }
            Lever::Accumulate if made.micro_batches > 1 => Some(accumulated(prepared)?),
            Lever::Recompute if prepared.parts.iter().any(|part| part.again().next().is_some()) => {
                Some(recomputed(prepared))
            }
            Lever::Threads if made.lanes() < job.lanes() => {
                let note = format!("of {} have scratch of their own", job.threads());
                let stage = self.stage(Some(Change::Threads(made.lanes())), prepared.peak());
                Some(Stage { seconds: prepared.seconds(), note, ..stage })
            }
            // Not pulled here.
            Lever::Ready | Lever::InPlace | Lever::Optimizer | Lever::Batch => None,
            Lever::Accumulate | Lever::Recompute | Lever::Threads => None,
            // No levers of Plimsoll.
            Lever::Graph | Lever::Region | Lever::Precision => None,
        })
    }
}

fn accumulated(prepared: &Prepared) -> Result<Stage, JobError> {
    let made = Prepared::new(&prepared.job, Aim::WHATEVER, &Residents::default())?;
    let change = Some(Change::MicroBatches(prepared.job.micro_batches));
    let note = format!(
        "{} samples at a time; gradients are added up, so sums round in another order",
        prepared.parts[0].rows
    );
    Ok(Stage { change, peak: made.peak(), seconds: made.seconds(), note })
}

fn recomputed(prepared: &Prepared) -> Stage {
    let note = format!("{}: {:.1} % more work", repeated(prepared), 100.0 * prepared.extra_flops());
    let (peak, seconds) = (prepared.peak(), prepared.seconds());
    Stage { change: Some(Change::Recompute), peak, seconds, note }
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
