//! What lives across steps, in a trace whose steps begin and end with nothing live: a planned run records each program
//! from take to free, but its arena keeps parameters and optimizer state all the time, whoever runs in it.

use super::{Buffer, Exhibit, Kept, LARGEST};
use plimsoll_trace::{Event, Trace};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Makes one buffer, live from the beginning to the end, of all that lie at the same place with the same name.
pub(super) fn keep(exhibit: &mut Exhibit, trace: &Trace) {
    if !falls_silent(trace) {
        return;
    }
    let mut first = HashMap::new();
    let is_first: Vec<bool> = (exhibit.buffers.iter())
        .map(|buffer| match first.entry((buffer.value, buffer.offset, buffer.bytes)) {
            _ if !is_resident(buffer) => true,
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => *place.insert(true),
        })
        .collect();
    let total = first.keys().fold(0u64, |sum, (_, _, bytes)| sum.saturating_add(bytes.0));
    // A trace of nonsense may hold more than a page can count.
    if total > LARGEST / 2 {
        return;
    }
    let mut is_first = is_first.into_iter();
    exhibit.buffers.retain(|_| is_first.next().unwrap_or(true));
    for buffer in exhibit.buffers.iter_mut().filter(|buffer| is_resident(buffer)) {
        buffer.live = 0..exhibit.ticks;
    }
    exhibit.buffers.sort_by_key(|buffer| buffer.live.start);
}

fn is_resident(buffer: &Buffer) -> bool {
    buffer.kept == Kept::AcrossSteps
}

/// Whether nothing is live at some moment between two events.
pub(crate) fn falls_silent(trace: &Trace) -> bool {
    let mut live = 0usize;
    let Some((_, before_the_last)) = trace.events.split_last() else { return false };
    before_the_last.iter().any(|event| {
        match event {
            Event::Take { .. } => live += 1,
            Event::Free { .. } => live = live.saturating_sub(1),
        }
        live == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    fn shown(events: &str) -> Exhibit {
        let labels = "label \"w\" \"parameter\" \"\" \"\"\nlabel \"m\" \"optimizer_state\" \"\" \"\"\nlabel \"a\" \"activation\" \"\" \"\"\n";
        Exhibit::of_trace(&text::parse(&format!("trace 1\n{labels}{events}")).unwrap()).unwrap()
    }

    fn lives(exhibit: &Exhibit) -> Vec<(&str, u32, u32)> {
        let life = |buffer: &Buffer| (exhibit.texts.get(buffer.value), buffer.live.start, buffer.live.end);
        exhibit.buffers.iter().map(life).collect()
    }

    const STEP: &str = "0 take 0 at 0 bytes 8 label 0\n0 take 1 at 8 bytes 8 label 1\n0 take 2 at 16 bytes 8 label 2\n1 free 2\n1 free 1\n1 free 0\n";

    #[test]
    fn what_lives_across_steps_is_there_while_the_model_is_judged() {
        let judged = "2 take 0 at 0 bytes 8 label 0\n2 take 2 at 16 bytes 4 label 2\n3 free 2\n3 free 0\n";
        let exhibit = shown(&format!("{STEP}{judged}"));
        assert_eq!(lives(&exhibit), [("w", 0, 4), ("m", 0, 4), ("a", 0, 2), ("a", 2, 4)]);
    }

    #[test]
    fn a_trace_that_never_falls_silent_is_shown_as_it_is() {
        let exhibit = shown(
            "0 take 0 at 0 bytes 8 label 0\n1 take 1 at 8 bytes 8 label 1\n2 free 1\n2 take 2 at 8 bytes 8 label 2\n",
        );
        assert_eq!(lives(&exhibit), [("w", 0, 4), ("m", 1, 3), ("a", 3, 4)]);
    }
}
