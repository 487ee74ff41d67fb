//! What a trace says beside its events: what it is of, limits, regions, steps and refusals.

use super::Exhibit;
use crate::exhibit::LARGEST;
use plimsoll_trace::{Bytes, Trace, What, reserved};

/// Steps and refusals that are marked on the charts; more would only hide them.
const MARKS: usize = 200;

/// Adds it to an exhibit; `ticks` has the tick of every event.
pub(super) fn add(exhibit: &mut Exhibit, trace: &Trace, ticks: &[u32]) {
    let about = &trace.about;
    let batch = about.batch.map(|batch| format!("batch {batch}")).unwrap_or_default();
    let titled = about.title.contains("batch");
    let parts = [about.title.as_str(), if titled { "" } else { &batch }, &about.origin, &about.allocator];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    exhibit.headline = parts.join(" · ");
    exhibit.limit = about.limit;
    let tick = |after: usize| ticks.get(after).or(ticks.last()).copied().unwrap_or(0);
    let reserved = reserved(trace).into_iter().filter(|(_, bytes)| bytes.0 <= LARGEST);
    exhibit.reserved = reserved.map(|(after, bytes)| (tick(after), bytes)).collect();
    // A reader who comes to the first region later than to the first block has seen nothing reserved until then.
    if exhibit.reserved.first().is_some_and(|(first, _)| *first > 0) {
        exhibit.reserved.insert(0, (0, Bytes::ZERO));
    }
    add_marks(exhibit, trace, &tick);
    if let Some(peak) = about.planned_peak {
        let floor = about.floor.map(|floor| format!(", {floor} of it live at once")).unwrap_or_default();
        exhibit.notes.push(format!("The plan of the same step needs {peak}{floor}."));
    }
}

fn add_marks(exhibit: &mut Exhibit, trace: &Trace, tick: &dyn Fn(usize) -> u32) {
    let (mut refused, mut repeated) = (0, 0u64);
    for mark in &trace.marks {
        let name = match mark.what {
            What::Step { number } => format!("step {number}"),
            What::Refused { bytes, .. } => {
                refused += 1;
                format!("refused {bytes}")
            }
            What::Again { .. } => {
                repeated += 1;
                continue;
            }
            What::Clock { .. } | What::Region { .. } => continue,
        };
        if exhibit.marks.len() < MARKS {
            exhibit.marks.push((tick(mark.after), name));
        }
    }
    if refused > 0 {
        exhibit.notes.push(format!("{refused} requests were refused."));
    }
    if repeated > 0 {
        exhibit.notes.push(format!("{repeated} more steps were the same as one that is shown."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::{About, BlockId, Event, Label, Offset, Time};

    #[test]
    fn what_stands_beside_the_events_is_shown() {
        let about = About {
            title: "mlp · batch 4".to_string(),
            origin: "eager run".to_string(),
            batch: Some(4),
            limit: Some(Bytes(4096)),
            planned_peak: Some(Bytes(512)),
            ..About::default()
        };
        let mut trace = Trace { about, ..Trace::default() };
        let label = trace.add_label(Label::default());
        trace.mark(What::Region { offset: Offset(0), bytes: Bytes(1024) });
        trace.mark(What::Step { number: 1 });
        for step in 0..2 {
            let (time, block, offset) = (Time(step), BlockId(step), Offset(64 * u64::from(step)));
            trace.events.push(Event::Take { time, block, offset, bytes: Bytes(64), label });
            trace.events.push(Event::Free { time, block });
        }
        trace.mark(What::Region { offset: Offset(1024), bytes: Bytes(1024) });
        trace.mark(What::Refused { bytes: Bytes(9999), label });
        trace.mark(What::Again { from: 0, count: 4 });
        let exhibit = Exhibit::of_trace(&trace).unwrap();
        assert_eq!(exhibit.headline, "mlp · batch 4 · eager run");
        assert_eq!(
            (exhibit.limit, exhibit.reserved),
            (Some(Bytes(4096)), vec![(0, Bytes(1024)), (1, Bytes(2048))])
        );
        assert_eq!(exhibit.marks, [(0, "step 1".to_string()), (1, "refused 9.76 KiB".to_string())]);
        assert_eq!(exhibit.notes.len(), 3, "{:?}", exhibit.notes);
    }
}
