//! Reading TensorFlow's allocation traces: what good ones give, and that bad ones are errors with a line and never
//! panics.

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_import::bfctrace::{self, BfcEvent, BfcTrace, BfcTraceError};
use plimsoll_trace::{Bytes, summarize, verify};
use proptest::prelude::*;
use std::io::Write;

const SMALL: &str = "# bfctrace v1
R 7f0000001000 4096 64
R 7e0000000000 8192 64
M build_model
P 7f0000001000 200 256 0 VarHandleOp temp 20
A 7f0000001100 16 256 0 Cast output 9
A 7e0000000000 5000 5120 1 - - 0
A 0 99999 0 0 MatMul output 1
W 99999 10000
F 7f0000001100 0
F 0 0
A 7f0000001100 8 256 0 Cast output 9
M step 1 end
";

fn read(text: &str) -> Result<BfcTrace, BfcTraceError> {
    bfctrace::read(text.as_bytes())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_trace_is_read_and_becomes_ours() {
    let trace = read(SMALL).unwrap();
    assert_eq!(trace.failed, 1);
    assert_eq!(trace.regions().map(|(_, bytes)| bytes.0).collect::<Vec<_>>(), [4096, 8192]);
    let marks = trace
        .events
        .iter()
        .filter_map(|event| if let BfcEvent::Mark(text) = event { Some(text) } else { None });
    assert_eq!(marks.collect::<Vec<_>>(), ["build_model", "step 1 end"]);

    let ours = trace.to_trace();
    verify(&ours).unwrap();
    let summary = summarize(&ours);
    assert_eq!(summary.floor, Bytes(200 + 16 + 5000));
    assert_eq!(summary.peak, Bytes(4096 + 5000), "the second region lies behind the first");
    let ops: Vec<&str> = ours.labels.iter().map(|label| label.op.as_str()).collect();
    assert_eq!(ops, ["VarHandleOp", "Cast", "", "MatMul"]);
    assert_eq!(ours.labels[1].role, "output");
}

#[test]
fn gzip_and_text_give_the_same() {
    let plain = read(SMALL).unwrap();
    assert_eq!(bfctrace::read(&*gzip(SMALL.as_bytes())).unwrap(), plain);
    let (first, second) = SMALL.split_at(100);
    let members = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    assert_eq!(bfctrace::read(&*members).unwrap(), plain, "two gzip files one after another");
    assert_eq!(read(SMALL.trim_end()).unwrap(), plain, "the last line may end without a line break");
}

#[test]
fn a_trace_without_regions_begins_at_its_lowest_address() {
    let trace = read("# bfctrace v1\nA 9000 10 256 0 a b 1\nA 8000 10 256 0 a b 1\n").unwrap();
    assert_eq!(summarize(&trace.to_trace()).peak, Bytes(0x1000 + 10));
}

#[test]
fn problems_name_their_line() {
    let region = "# bfctrace v1\nR 1000 4096 64\n";
    let cases = [
        ("", "line 1: the first line must begin with `# bfctrace v1`"),
        ("trace 1\n", "line 1: the first line must begin with `# bfctrace v1`"),
        (
            "# bfctrace v1\nR 1000 x 64\n",
            "line 2: `R 1000 x 64` is no event: a region is `R address bytes alignment`",
        ),
        ("# bfctrace v1\nQ\n", "line 2: `Q` is no event: lines begin with A, F, R, M, P, W or #"),
        (
            "# bfctrace v1\nA 1000 1 256 0 op out\n",
            "line 2: `A 1000 1 256 0 op out` is no event: a block is `A address requested chunk thread op type element`",
        ),
        (
            "# bfctrace v1\nA 1000 300 256 0 op out 1\n",
            "line 2: the chunk has 256 bytes, fewer than the 300 asked for",
        ),
        (
            "# bfctrace v1\nR 1000 4096 64\nF 1000 0\n",
            "line 3: a free of 1000, where no block was ever taken",
        ),
        (
            "# bfctrace v1\nA 1000 1 256 0 a b 1\nF 1080 0\n",
            "line 3: the block at 1080 overlaps the live block at 1000",
        ),
        ("# bfctrace v1\nA 1000 1 256 0 a b 1\nF 1000 0\nF 1000 0\n", "line 4: a second free of 1000"),
        (
            "# bfctrace v1\nA 1000 1 256 0 a b 1\nA 10ff 1 256 0 a b 1\n",
            "line 3: the block at 10ff overlaps the live block at 1000",
        ),
        (
            "# bfctrace v1\nA 1000 1 256 0 a b 1\nA 1000 0 0 0 a b 1\n",
            "line 3: the block at 1000 overlaps the live block at 1000",
        ),
        (
            "# bfctrace v1\nA ffffffffffffffff 1 256 0 a b 1\n",
            "line 2: what begins at ffffffffffffffff ends beyond any address",
        ),
        (
            "# bfctrace v1\nR 1000 18446744073709551615 64\n",
            "line 2: what begins at 1000 ends beyond any address",
        ),
        (
            "# bfctrace v1\nP 1000 1 256 0 a b 1\nR 1000 4096 64\n",
            "line 3: the first region stands after blocks that lie in none",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(read(text).unwrap_err().to_string(), message);
    }
    let outside = read(&format!("{region}A 3000 1 256 0 a b 1\n")).unwrap_err().to_string();
    assert_eq!(outside, "line 3: the block at 3000 lies in no region");
    let long = read(&format!("{region}M {}\n", "x".repeat(100_000))).unwrap_err().to_string();
    assert_eq!(long, "line 3: a line of more than 64 KiB");
    let bytes = [region.as_bytes(), b"M \xff\xfe\n"].concat();
    assert_eq!(bfctrace::read(&*bytes).unwrap_err().to_string(), "line 3: the line is not UTF-8");
}

#[test]
fn a_log_that_begins_in_the_middle_starts_with_what_it_frees() {
    let cut = "# bfctrace v1\nA 1000 200 256 0 a b 1\nF 1400 0\nA 1400 500 512 0 a b 1\nF 1200 0\nF 1400 0\nR 9000 4096 64\n";
    let trace = read(cut).unwrap();
    let before = |event: &BfcEvent| match *event {
        BfcEvent::Take { before: true, address, chunk, .. } => Some((address, chunk.0)),
        _ => None,
    };
    let inferred: Vec<_> = trace.events.iter().filter_map(before).collect();
    // The first ends below the second; nothing is above that, so it is as long as the longest block.
    assert_eq!((trace.inferred, &inferred[..]), (2, &[(0x1200, 0x200), (0x1400, 512)][..]));
    verify(&trace.to_trace()).unwrap();
    assert_eq!(summarize(&trace.to_trace()).floor, Bytes(512 + 512 + 200));
}

#[test]
fn a_real_log_is_read_from_wherever_it_begins() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mlp_4096_0_512_adam.txt.gz");
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut inferred = 0;
    for first in (100..lines.len()).step_by(97).filter(|first| !lines[*first].starts_with('R')) {
        let trace = read(&format!("# bfctrace v1\n{}", lines[first..].join("\n"))).unwrap();
        verify(&trace.to_trace()).unwrap();
        inferred += trace.inferred;
    }
    assert!(inferred > 0);
}

#[test]
fn a_truncated_gzip_is_an_error_wherever_it_ends() {
    let whole = gzip(SMALL.as_bytes());
    for end in 0..whole.len() {
        let error = bfctrace::read(&whole[..end]).unwrap_err();
        assert!(error.line >= 1 && error.line <= SMALL.lines().count() as u64 + 1, "{end}: {error}");
    }
}

#[test]
fn a_truncated_text_is_an_error_or_what_came_before() {
    let whole = read(SMALL).unwrap().events;
    for end in 0..SMALL.len() {
        match read(&SMALL[..end]) {
            Ok(trace) => assert!(trace.events.len() <= whole.len()),
            Err(error) => assert!(error.line <= SMALL[..end].lines().count().max(1) as u64, "{error}"),
        }
    }
}

#[test]
fn a_changed_byte_of_gzip_is_noticed() {
    let whole = gzip(SMALL.as_bytes());
    let expected = read(SMALL).unwrap();
    // Before 10 stands the header, in which the time and the system mean nothing.
    for at in 10..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        assert!(bfctrace::read(&*changed).map_or(true, |trace| trace == expected), "byte {at}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_error_or_a_trace(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = bfctrace::read(&*bytes);
        let _ = bfctrace::read(&*[b"\x1f\x8b".to_vec(), bytes].concat());
    }

    #[test]
    fn any_words_are_an_error_or_a_trace(lines in proptest::collection::vec(line(), 0..40)) {
        if let Ok(trace) = read(&format!("# bfctrace v1\n{}", lines.join("\n"))) {
            let ours = trace.to_trace();
            prop_assert_eq!(verify(&ours), Ok(()));
            summarize(&ours);
        }
    }
}

/// Lines that are almost right, with addresses that meet each other.
fn line() -> impl Strategy<Value = String> {
    let address = prop_oneof![
        "[0-9a-f]{1,3}00",
        Just("0".to_string()),
        Just("ffffffffffffff00".to_string()),
        "[ g0-9]{0,4}"
    ];
    let bytes = prop_oneof!["[0-9]{1,4}", Just("18446744073709551615".to_string()), Just("-1".to_string())];
    (address, bytes.clone(), bytes, 0..8).prop_map(|(address, one, two, kind)| match kind {
        0 => format!("R {address} {two} 64"),
        1 | 2 => format!("F {address} 0"),
        3 => format!("P {address} {one} {two} 0 a b 1"),
        4 => format!("M {address}"),
        5 => format!("{address} {one}"),
        _ => format!("A {address} {one} {two} 0 Cast output 1"),
    })
}
