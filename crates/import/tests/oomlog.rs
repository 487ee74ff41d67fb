//! Dumps with known figures: our own with their index, and those that people posted.

use plimsoll_import::oomlog::{Dump, Figure, Log, read};
use std::path::{Path, PathBuf};

fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps")
}

/// A log that people posted; none where the folder is not there, which CI does not allow.
fn posted(name: &str) -> Option<Log> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oomlogs").join(name);
    match std::fs::File::open(&path) {
        Ok(file) => Some(read(file).unwrap()),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{}: {error}", path.display());
            println!("skipped: {} is not here", path.display());
            None
        }
    }
}

fn exact(figure: Option<Figure>) -> u64 {
    let figure = figure.expect("the figure is known");
    assert!(figure.is_exact(), "{figure:?}");
    figure.bytes
}

fn bytes(figure: Option<Figure>) -> Option<u64> {
    figure.map(|figure| figure.bytes)
}

#[test]
fn every_figure_equals_the_index() {
    let index = std::fs::read_to_string(dumps().join("index.csv")).unwrap();
    let mut cases = 0;
    for row in index.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |column: usize| cells[column].parse::<u64>().unwrap();
        let log =
            read(std::fs::File::open(dumps().join(format!("{}.stderr.gz", cells[0]))).unwrap()).unwrap();
        assert_eq!(log.dumps.len() as u64, number(13), "{row}");
        let dump = &log.dumps[0];
        assert_eq!(dump.op.as_deref(), Some(cells[3]), "{row}");
        let figures = [dump.request, dump.pool, dump.in_use, dump.free, dump.largest_free];
        assert_eq!(figures.map(exact), [4, 6, 8, 10, 12].map(number), "{row}");
        // The newest dumps round the limit; it is exact only where nothing is left of it.
        assert_eq!(bytes(dump.limit), Some(number(5)), "{row}");
        assert_eq!(dump.regions.len() as u64, number(7), "{row}");
        let used = dump.chunks().filter(|chunk| chunk.in_use).count() as u64;
        assert_eq!((used, dump.chunks().count() as u64 - used), (number(9), number(11)), "{row}");
        assert!(dump.is_complete() && dump.missing.is_empty(), "{row}: {:?}", dump.missing);
        cases += 1;
    }
    assert_eq!(cases, 8);
}

#[test]
fn an_old_dump_is_exact_because_its_tensor_has_a_shape() {
    let Some(log) = posted("gh_file_2585193199_alexnet_k40c_tf1.4_complete.log") else { return };
    let [dump] = &log.dumps[..] else { panic!("{} dumps", log.dumps.len()) };
    let figures = [dump.request, dump.limit, dump.pool, dump.in_use, dump.free, dump.largest_free];
    assert_eq!(
        figures.map(exact),
        [77_760_000, 285_474_816, 285_474_816, 208_404_480, 77_070_336, 69_648_384]
    );
    assert_eq!((dump.regions.len(), dump.line), (1, 2));
    assert_eq!(dump.shape, [128, 225, 225, 3]);
    assert_eq!(dump.missing, [""; 0]);
}

#[test]
fn partial_dumps_say_what_they_can() {
    // Request, limit, pool, in use; and what must be said to be missing.
    type Case<'a> = (&'a str, [Option<u64>; 4], &'a str);
    let cases: [Case; 6] = [
        (
            "gh_file_10778811985_gt735m_growth_tf2.1_windows_partial.log",
            [Some(115_200), Some(568_351_129), Some(568_350_976), Some(568_350_976)],
            "chunks of",
        ),
        ("ika-rwth-aachen_Point-Cloud-Compression_2_growth_partial.log", [None; 4], "how much was asked for"),
        ("tensorflow_16221_report_tensor_allocations_partial.log", [None; 4], "the list of chunks"),
        (
            "tensorflow_22586_partial.log",
            [None, Some(8_847_717_172), None, Some(4_797_028_096)],
            "how much was asked for",
        ),
        (
            "tensorflow_3304_partial.log",
            [None, Some(503_270_604), None, Some(503_061_248)],
            "the list of chunks",
        ),
        (
            "tensorflow_47820_partial.log",
            [Some(18_874_368), Some(67 << 20), None, None],
            "the list of chunks",
        ),
    ];
    for (name, figures, missing) in cases {
        let Some(log) = posted(name) else { return };
        let [dump] = &log.dumps[..] else { panic!("{name}: {} dumps", log.dumps.len()) };
        let found = [dump.request, dump.limit, dump.pool, dump.in_use].map(bytes);
        for (expected, found) in figures.iter().zip(found) {
            assert!(expected.is_none() || *expected == found, "{name}: {figures:?}, not {found:?}");
        }
        assert!(dump.missing.iter().any(|what| what.contains(missing)), "{name}: {:?}", dump.missing);
    }
}

#[test]
fn torch_messages_are_five() {
    let Some(log) = posted("pytorch_oom_messages.txt") else { return };
    let requests: Vec<u64> = log.dumps.iter().map(|dump| dump.request.unwrap().bytes >> 20).collect();
    assert_eq!(requests, [1423, 3000, 1740, 546, 686]);
    let in_use = |dump: &Dump| dump.in_use.map(|figure| figure.bytes >> 20);
    let in_use: Vec<Option<u64>> = log.dumps.iter().map(in_use).collect();
    assert_eq!(in_use, [Some(4136), Some(12_328), Some(3000), Some(14_059), Some(55_439)]);
}
