//! Traces of any shape, for tests: what a file form must carry, whether or not it could have happened.

use crate::{About, BlockId, Bytes, Event, Label, LabelId, Mark, Offset, Time, Trace, What};
use proptest::collection::vec;
use proptest::prelude::*;

/// Any trace whose marks stand in order.
pub fn any_trace() -> impl Strategy<Value = Trace> {
    (about(), vec(label(), 0..6), vec(event(), 0..24), vec((any::<prop::sample::Index>(), what()), 0..8))
        .prop_map(|(about, labels, events, marks)| {
            let place = |(index, what): (prop::sample::Index, What)| Mark {
                after: index.index(events.len() + 1),
                what,
            };
            let mut marks: Vec<Mark> = marks.into_iter().map(place).collect();
            marks.sort_by_key(|mark| mark.after);
            Trace { about, labels, events, marks }
        })
}

fn about() -> impl Strategy<Value = About> {
    let size = || any::<Option<u64>>().prop_map(|size| size.map(Bytes));
    (any::<String>(), any::<String>(), any::<String>(), any::<Option<u32>>(), size(), size(), size(), size())
        .prop_map(|(title, origin, allocator, batch, limit, floor, planned_peak, reported_peak)| About {
            title,
            origin,
            allocator,
            batch,
            limit,
            floor,
            planned_peak,
            reported_peak,
        })
}

fn label() -> impl Strategy<Value = Label> {
    // Names that share beginnings, as those of layers do, and some that share nothing.
    let name = || prop_oneof![Just(String::new()), "(conv|dense)[12](/kernel| again)?", any::<String>()];
    (name(), name(), name(), name(), any::<bool>()).prop_map(|(value, role, layer, op, again)| Label {
        value,
        role,
        layer,
        op,
        again,
    })
}

fn event() -> impl Strategy<Value = Event> {
    let number = || prop_oneof![0..9u32, any::<u32>()];
    let size = || prop_oneof![0..9u64, any::<u64>()];
    let take =
        (number(), number(), size(), size(), number()).prop_map(|(time, block, offset, bytes, label)| {
            let (time, block, label) = (Time(time), BlockId(block), LabelId(label));
            Event::Take { time, block, offset: Offset(offset), bytes: Bytes(bytes), label }
        });
    let free = (number(), number())
        .prop_map(|(time, block)| Event::Free { time: Time(time), block: BlockId(block) });
    prop_oneof![take, free]
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        any::<u64>().prop_map(|number| What::Step { number }),
        Just(What::Evaluation),
        any::<u64>().prop_map(|nanoseconds| What::Clock { nanoseconds }),
        any::<(u64, u64)>()
            .prop_map(|(offset, bytes)| What::Region { offset: Offset(offset), bytes: Bytes(bytes) }),
        any::<(u64, u32)>()
            .prop_map(|(bytes, label)| What::Refused { bytes: Bytes(bytes), label: LabelId(label) }),
        any::<(usize, usize)>().prop_map(|(from, count)| What::Again { from, count }),
    ]
}
