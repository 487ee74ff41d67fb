//! What a trace says beside its events: what it is of, limits, regions, steps and refusals.

use super::Exhibit;
use crate::exhibit::LARGEST;
use plimsoll_trace::{Bytes, Mark, Trace, What, reserved};

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
    exhibit.reported = about.reported_peak.filter(|peak| peak.0 <= LARGEST);
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
    let mut marks: Vec<(usize, String)> = Vec::new();
    let (mut refused, mut same_steps, mut same_batches) = (0, 0, 0);
    for part in parts(trace) {
        let again = part.marks.iter().filter(|mark| matches!(mark.what, What::Again { .. }));
        // A step that is the same as an earlier one has no events of its own: nothing that is shown is of it.
        let is_same = again.clone().any(|mark| mark.after == part.after);
        match part.begins {
            Some(What::Step { number }) if !is_same => marks.push((part.after, format!("step {number}"))),
            Some(What::Step { .. }) => same_steps += 1,
            Some(_) => {
                marks.push((part.after, "evaluation".to_string()));
                same_batches += again.count();
            }
            None => {}
        }
        for mark in part.marks {
            let What::Refused { bytes, .. } = mark.what else { continue };
            refused += 1;
            marks.push((mark.after, format!("refused {bytes}")));
        }
    }
    exhibit.marks.extend(marks.into_iter().take(MARKS).map(|(after, name)| (tick(after), name)));
    let counts = [
        (refused, "request was refused.", "requests were refused."),
        (
            same_steps,
            "more step was the same as one that is shown.",
            "more steps were the same as one that is shown.",
        ),
        (
            same_batches,
            "more batch of the evaluation was the same as the one that is shown.",
            "more batches of the evaluation were the same as the one that is shown.",
        ),
    ];
    for (count, one, many) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        exhibit.notes.push(format!("{count} {}", if count == 1 { one } else { many }));
    }
}

/// What lies between two marks that begin something.
struct Part<'a> {
    /// A step or an evaluation; nothing for what comes before the first.
    begins: Option<What>,
    /// How many events happened before it.
    after: usize,
    marks: &'a [Mark],
}

fn parts(trace: &Trace) -> impl Iterator<Item = Part<'_>> {
    let begins = |mark: &Mark| matches!(mark.what, What::Step { .. } | What::Evaluation);
    trace.marks.chunk_by(move |_, mark| !begins(mark)).map(move |marks| Part {
        begins: Some(marks[0].what).filter(|_| begins(&marks[0])),
        after: marks[0].after,
        marks,
    })
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
        for number in 2..5 {
            trace.mark(What::Step { number });
            trace.mark(What::Again { from: 0, count: 4 });
        }
        trace.mark(What::Evaluation);
        let (time, block, offset) = (Time(2), BlockId(2), Offset(0));
        trace.events.push(Event::Take { time, block, offset, bytes: Bytes(64), label });
        trace.events.push(Event::Free { time, block });
        trace.mark(What::Again { from: 4, count: 2 });
        let exhibit = Exhibit::of_trace(&trace).unwrap();
        assert_eq!(exhibit.headline, "mlp · batch 4 · eager run");
        assert_eq!(
            (exhibit.limit, exhibit.reserved),
            (Some(Bytes(4096)), vec![(0, Bytes(1024)), (2, Bytes(2048))])
        );
        let marks: Vec<(u32, &str)> =
            exhibit.marks.iter().map(|(tick, name)| (*tick, name.as_str())).collect();
        assert_eq!(marks, [(0, "step 1"), (2, "refused 9.76 KiB"), (2, "evaluation")]);
        let notes = [
            "1 request was refused.",
            "3 more steps were the same as one that is shown.",
            "1 more batch of the evaluation was the same as the one that is shown.",
            "The plan of the same step needs 512 B.",
        ];
        assert_eq!(exhibit.notes, notes);
    }
}
