//! Replays of traces that were written here.

use super::*;
use plimsoll_memory::{Regions, TorchOptions};
use plimsoll_trace::text;

fn trace(events: &str) -> Trace {
    text::parse(&format!("trace 1\nlabel \"a\" \"\" \"\" \"Op\"\n{events}")).unwrap()
}

fn question(allocators: &[&str], limit: Option<u64>) -> Question {
    let allocators = allocators.iter().map(|name| name.to_string()).collect();
    Question { allocators, limit: limit.map(Bytes), ..Question::default() }
}

/// Two blocks, then one that fits between them only if somebody knew.
const LATE: &str = "0 take 0 at 0 bytes 6400 label 0\n0 take 1 at 0 bytes 640 label 0\n1 free 0\n1 take 2 at 0 bytes 7040 label 0\n";

#[test]
fn a_plan_needs_the_floor_where_an_allocator_needs_more() {
    let comparison = compare(&trace(LATE), &question(&["best-fit", PLANNED], None)).unwrap();
    assert_eq!(comparison.floor, Bytes(7680));
    let limits: Vec<u64> = comparison.rows.iter().map(|row| row.smallest_limit.unwrap().0).collect();
    assert_eq!(limits, [4096 * 4, 7680], "6400 + 640 + 7040 in pages, and the floor");
    assert!(comparison.rows.iter().all(|row| row.outcome.out_of_memory.is_none()));
}

/// A log of TensorFlow's allocator as it goes on in the middle: made by running it, so what is recorded is known.
fn log_of_the_middle(steps: usize, cut: usize) -> String {
    let mut state = 11u64;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % end
    };
    let options = AllocatorOptions::default();
    let mut bfc = by_name("bfc", &options).unwrap();
    let mut regions = Simulated::new(Bytes::mib(64));
    let mut live: Vec<(Block, u64)> = Vec::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for step in 0..steps {
        let lines = if step < cut { &mut before } else { &mut after };
        if step == cut {
            let held = live.iter().map(|(block, asked)| line('P', block, *asked, &regions));
            lines.extend(held);
        }
        if live.len() > 20 || below(3) == 0 && !live.is_empty() {
            let (block, _) = live.swap_remove(below(live.len() as u64) as usize);
            lines.push(format!("F {:x} 0", at(&block, &regions)));
            bfc.free(block.address, &mut regions).unwrap();
        } else {
            let asked = 1 + below(1 << 20);
            let reserved = regions.reserved();
            let block = bfc.take(Bytes(asked), LabelId(0), &mut regions).unwrap();
            if regions.reserved() > reserved {
                let size = regions.reserved() - reserved;
                let base = at(&block, &regions) - block.address.offset.0;
                lines.push(format!("R {base:x} {} 64", size.0));
            }
            lines.push(line('A', &block, asked, &regions));
            live.push((block, asked));
        }
    }
    before.retain(|line| line.starts_with('R'));
    format!("# bfctrace v1\n{}\n{}\n", before.join("\n"), after.join("\n"))
}

fn at(block: &Block, regions: &Simulated) -> u64 {
    // Nothing begins at address 0, which means something else in a log.
    0x1000 + regions.base(block.address.region) + block.address.offset.0
}

fn line(kind: char, block: &Block, asked: u64, regions: &Simulated) -> String {
    format!("{kind} {:x} {asked} {} 0 op output 1", at(block, regions), block.bytes.0)
}

#[test]
fn what_goes_on_from_the_recorded_pool_is_as_recorded() {
    for cut in [0, 40, 150, 333] {
        let recording = read(log_of_the_middle(400, cut).as_bytes()).unwrap();
        let comparison = compare_recording(&recording, &question(&["bfc"], None)).unwrap();
        let recorded = comparison.recorded.unwrap();
        assert_eq!(comparison.rows.len(), if cut == 0 { 1 } else { 2 }, "{cut}");
        let first = &comparison.rows[0];
        assert_eq!(first.allocator, if cut == 0 { "bfc" } else { "bfc, going on" });
        assert!(cut > 0 || !recorded.bases.is_empty());
        assert_eq!(first.outcome.peak_in_use, recorded.peak_in_use, "{cut}");
        assert_eq!(Some(first.outcome.peak_reserved), recorded.peak_reserved, "{cut}");
        assert!(first.smallest_limit.unwrap() <= first.outcome.peak_reserved);
    }
}

/// A value as a pickle writes it.
enum Pickled {
    Number(u64),
    Text(&'static str),
    List(Vec<Pickled>),
    Dict(Vec<(&'static str, Pickled)>),
}

impl Pickled {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => {
                out.extend([0x8a, 8]);
                out.extend(number.to_le_bytes());
            }
            Self::Text(text) => {
                out.push(b'X');
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }
            Self::List(items) => {
                out.extend(b"](");
                items.iter().for_each(|item| item.write(out));
                out.push(b'e');
            }
            Self::Dict(fields) => {
                out.extend(b"}(");
                for (key, value) in fields {
                    Self::Text(key).write(out);
                    value.write(out);
                }
                out.push(b'u');
            }
        }
    }
}

fn event(action: &'static str, address: u64, bytes: u64) -> Pickled {
    Pickled::Dict(vec![
        ("action", Pickled::Text(action)),
        ("addr", Pickled::Number(address)),
        ("size", Pickled::Number(bytes)),
    ])
}

/// A snapshot of PyTorch's allocator that recorded only the last of its work: made by running it.
fn snapshot_of_the_middle(steps: usize, cut: usize) -> (Vec<u8>, Bytes) {
    let mut state = 5u64;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % end
    };
    let mut torch = Torch::new(TorchOptions::default());
    let mut regions = Simulated::new(Bytes::mib(512));
    let (mut live, mut events) = (Vec::<(Block, u64)>::new(), Vec::new());
    let (mut segments, mut peak) = (Vec::<(u64, u64)>::new(), Bytes::ZERO);
    for step in 0..steps {
        let mut happened = Vec::new();
        if live.len() > 30 || below(3) == 0 && !live.is_empty() {
            let (block, asked) = live.swap_remove(below(live.len() as u64) as usize);
            happened.push(event("free_completed", at(&block, &regions), asked));
            torch.free(block.address, &mut regions).unwrap();
        } else {
            let most = 1 << (10 + below(13));
            let asked = 1 + below(most);
            let reserved = regions.reserved();
            let block = torch.take(Bytes(asked), LabelId(0), &mut regions).unwrap();
            if regions.reserved() > reserved {
                let size = (regions.reserved() - reserved).0;
                segments.push((at(&block, &regions) - block.address.offset.0, size));
                happened.extend(segments.last().map(|&(base, size)| event("segment_alloc", base, size)));
            }
            happened.push(event("alloc", at(&block, &regions), asked));
            live.push((block, asked));
        }
        if step >= cut {
            peak = peak.max(torch.statistics().in_use);
            events.extend(happened);
        } else if step + 1 == cut {
            peak = torch.statistics().in_use;
        }
    }
    let block = |(block, _): &(Block, u64)| {
        Pickled::Dict(vec![
            ("address", Pickled::Number(at(block, &regions))),
            ("size", Pickled::Number(block.bytes.0)),
            ("state", Pickled::Text("active_allocated")),
        ])
    };
    let segment = |&(base, size): &(u64, u64)| {
        let inside = live.iter().filter(|(block, _)| (base..base + size).contains(&at(block, &regions)));
        Pickled::Dict(vec![
            ("address", Pickled::Number(base)),
            ("total_size", Pickled::Number(size)),
            ("blocks", Pickled::List(inside.map(block).collect())),
        ])
    };
    let segments = Pickled::List(segments.iter().map(segment).collect());
    let traces = Pickled::List(vec![Pickled::List(events)]);
    let mut bytes = vec![0x80, 2];
    Pickled::Dict(vec![("segments", segments), ("device_traces", traces)]).write(&mut bytes);
    bytes.push(b'.');
    (bytes, peak)
}

#[test]
fn a_snapshot_of_the_middle_goes_on_from_its_segments() {
    for cut in [1, 40, 150, 333] {
        let (bytes, peak) = snapshot_of_the_middle(400, cut);
        let recording = read(&bytes[..]).unwrap();
        let comparison = compare_recording(&recording, &question(&["torch", "best-fit"], None)).unwrap();
        let first = &comparison.rows[0];
        assert_eq!(first.allocator, "torch, going on", "{cut}");
        assert_eq!(first.outcome.peak_in_use, peak, "{cut}");
        let recorded = comparison.recorded.unwrap();
        assert_eq!(Some(first.outcome.peak_reserved), recorded.peak_reserved, "{cut}");
    }
}

#[test]
fn settings_of_torch_reach_it() {
    let mut question = question(&["torch", "torch-expandable"], None);
    let names = |question: &Question| -> Vec<String> {
        compare(&trace(LATE), question).unwrap().rows.into_iter().map(|row| row.allocator).collect()
    };
    assert_eq!(names(&question), ["torch", "torch-expandable"]);
    question.options.torch = TorchOptions::parse("expandable_segments:True").unwrap();
    assert_eq!(names(&question), ["torch-expandable"]);
    question.options.torch = TorchOptions::parse("roundup_power2_divisions:1").unwrap();
    let peak = |question: &Question| compare(&trace(LATE), question).unwrap().rows[0].outcome.peak_in_use;
    let plain = peak(&question);
    question.options.torch = TorchOptions::parse("roundup_power2_divisions:2").unwrap();
    assert!(peak(&question) > plain, "7040 becomes 8192 instead of 7168");
}

#[test]
fn running_out_says_where() {
    let comparison = compare(&trace(LATE), &question(&["best-fit", PLANNED], Some(7200))).unwrap();
    let [best_fit, planned] = &comparison.rows[..] else { panic!("two rows") };
    let shortage = best_fit.outcome.out_of_memory.unwrap();
    let figures = |s: Unmet| (s.event, s.requested.0, s.free.0, s.largest_free.0);
    assert_eq!(figures(shortage), (3, 7040, 7200 - 640, 6400));
    let shortage = planned.outcome.out_of_memory.unwrap();
    assert!(shortage.free.0 <= 7200 && shortage.largest_free <= shortage.free, "{shortage:?}");
}

#[test]
fn absurd_requests_and_limits_are_answers() {
    let absurd = trace("0 take 0 at 0 bytes 8 label 0\n0 take 1 at 0 bytes 18446744073709551615 label 0\n");
    for limit in [None, Some(0), Some(64 << 20), Some(u64::MAX)] {
        let comparison = compare(&absurd, &question(&names(), limit)).unwrap();
        for row in &comparison.rows {
            assert_eq!(row.smallest_limit, None, "{}", row.allocator);
            let first = row.outcome.out_of_memory.map(|shortage| shortage.event);
            let expected = if limit == Some(0) && row.allocator != PLANNED { 0 } else { 1 };
            assert_eq!(first, Some(expected), "{} {limit:?}", row.allocator);
        }
    }
    let empty = compare(&trace(""), &question(&names(), Some(0))).unwrap();
    assert!(empty.rows.iter().all(|row| row.smallest_limit == Some(Bytes::ZERO)), "{empty:?}");
    let tiny = compare(&trace("0 take 0 at 0 bytes 0 label 0\n"), &question(&names(), None)).unwrap();
    assert!(tiny.rows.iter().all(|row| row.smallest_limit <= Some(Bytes::mib(20))), "{tiny:?}");
    let unknown = compare(&trace(""), &question(&["bcf"], None)).unwrap_err().to_string();
    assert!(unknown.ends_with("torch-expandable, best-fit, bump, planned"), "{unknown}");
}
