//! PyTorch's snapshots in every protocol, and pickles that want more than to be data.

use plimsoll_import::oomlog::{Dump, Figure};
use plimsoll_import::{evidence, pickle, snapshot};
use plimsoll_trace::{Bytes, Event, LabelId, What, reserved, summarize};
use std::path::Path;

const MIB: u64 = 1 << 20;

fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    std::fs::read(folder.join(format!("{name}.pickle"))).unwrap()
}

fn refused(bytes: &[u8]) -> String {
    pickle::read(bytes).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_snapshot_is_the_same_in_every_protocol() {
    let of =
        |protocol: u32| snapshot::read(&file(&format!("snapshot.protocol{protocol}"))[..]).unwrap().dumps();
    let dumps = of(4);
    check(&dumps[0]);
    assert_eq!(dumps.len(), 1, "nothing failed on the other device");
    for protocol in 0..6 {
        assert_eq!(of(protocol), dumps, "protocol {protocol}");
    }
}

fn check(dump: &Dump) {
    let figures = [dump.request, dump.pool, dump.in_use, dump.free, dump.largest_free, dump.device_free];
    let figures = figures.map(|figure| figure.unwrap().bytes / MIB);
    assert_eq!(figures, [10, 22, 10, 12, 7, 3]);
    assert_eq!(dump.requested_in_use, Some(Figure::exact(9 * MIB - 100)));
    assert_eq!(dump.op.as_deref(), Some("train.py:41 forward"));
    let who: Vec<(&str, u64)> =
        dump.holders.iter().map(|held| (held.who.as_str(), held.bytes.bytes / MIB)).collect();
    assert_eq!(who, [("train.py:41 forward", 6), ("train.py:12 load", 4)]);
    assert!(dump.is_complete());
}

#[test]
fn recorded_events_are_a_trace() {
    let snapshot = snapshot::read(&file("snapshot.protocol4")[..]).unwrap();
    assert_eq!((snapshot.busiest_device(), snapshot.has_history()), (0, true));
    let trace = snapshot.to_trace(0);
    let sizes = |wanted: fn(&Event) -> bool| trace.events.iter().filter(|event| wanted(event)).count();
    let takes = sizes(|event| matches!(event, Event::Take { .. }));
    assert_eq!(takes, 5, "one was freed and two are live at the end that were never taken; two were taken");
    assert_eq!(trace.events.len(), 7);
    assert_eq!(summarize(&trace).floor, Bytes((1 + 2 + 2 + 6 + 5) * MIB));
    assert_eq!(reserved(&trace), [(0, Bytes(22 * MIB))]);
    let refused = trace.marks.iter().find(|mark| matches!(mark.what, What::Refused { .. })).unwrap();
    assert_eq!(refused.what, What::Refused { bytes: Bytes(10 * MIB), label: LabelId(2) });
    assert_eq!(trace.label(LabelId(2)).op, "train.py:41 forward");
    plimsoll_trace::verify(&trace).unwrap();
}

#[test]
fn evidence_is_told_apart_by_its_first_bytes() {
    assert_eq!(evidence::read(&file("snapshot.protocol4")[..]).unwrap().dumps.len(), 1);
    assert!(evidence::read(&file("hostile.system.protocol4")[..]).is_err());
    assert_eq!(evidence::read(&b""[..]).unwrap().dumps, []);
    assert!(evidence::read(&b"\x80\x04N."[..]).unwrap_err().to_string().contains("no list of segments"));
}

#[test]
fn what_calls_or_makes_objects_is_refused() {
    for name in ["system", "eval", "class", "open"] {
        for protocol in [0, 2, 4] {
            let message = refused(&file(&format!("hostile.{name}.protocol{protocol}")));
            assert!(message.contains("only plain data and known containers"), "{name} {protocol}: {message}");
        }
    }
    assert!(refused(&file("hostile.system.protocol4")).contains("posix.system"));
    let cases: [&[u8]; 12] = [
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x02cbuiltins\neval\n.",
        b"(ios\nsystem\n.",
        b"\x80\x02cbuiltins\nlist\n)\x81.",
        b"\x80\x02}}b.",
        b"\x80\x02\x82\x01.",
        b"P1\n.",
        b"\x80\x02NQ.",
        b"\x80\x02N)R.",
        b"\x80\x05\x97.",
        b"\x80\x02ccollections\nOrderedDict\n(tRccollections\nCounter\n.",
    ];
    for bytes in cases {
        let message = refused(bytes);
        assert!(message.contains("wants") || message.contains("no instruction"), "{bytes:?}: {message}");
    }
}

#[test]
fn bombs_do_not_go_off() {
    // A list of a list of ... with everything shared: 2 to the power of 200 items if it were written out.
    let mut doubled = b"\x80\x02]".to_vec();
    (0..200).for_each(|_| doubled.extend(b"q\x01]h\x01ah\x01a"));
    doubled.push(b'.');
    assert!(pickle::read(&doubled[..]).is_ok());
    // A list inside itself, and a million levels.
    assert!(pickle::read(&b"\x80\x02]q\x00h\x00a."[..]).is_ok());
    let deep = [&b"\x80\x02"[..], &vec![b']'; 1 << 20], &vec![b'a'; (1 << 20) - 1], b"."].concat();
    assert!(pickle::read(&deep[..]).is_ok());
    // Lengths that are promised and not there.
    assert!(refused(b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f").contains("more than"));
    assert!(refused(b"\x80\x04X\x00\x00\x10\x00ab").contains("ends or breaks"));
    assert!(refused(b"\x80\x02r\xff\xff\xff\xff").contains("not there"));
    // More values than are allowed, from one byte each.
    assert!(refused(&vec![b'N'; pickle::MOST_VALUES + 1]).contains("more than"));
}

#[test]
fn nonsense_is_an_error_and_never_a_panic() {
    for bytes in [
        &b""[..],
        b".",
        b"a",
        b"(.",
        b"\x85",
        b"s",
        b"u",
        b"(NNNd",
        b"}(Nu.",
        b"h\x05",
        b"e",
        b"t",
        b"\xff",
        b"Ix\n",
        b"1",
        b"2",
    ] {
        assert!(pickle::read(bytes).is_err(), "{bytes:?}");
    }
    let whole = file("snapshot.protocol4");
    for end in 0..whole.len() {
        assert!(pickle::read(&whole[..end]).is_err(), "cut at {end}");
    }
    let mut state = 3u64;
    for _ in 0..4000 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 40) as usize % bytes.len();
            bytes[at] = (state >> 32) as u8;
        }
        if let Ok(snapshot) = snapshot::read(&bytes[..]) {
            snapshot.dumps();
            snapshot.to_trace(0);
        }
    }
}
