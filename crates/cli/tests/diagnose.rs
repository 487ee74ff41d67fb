//! `plimsoll diagnose` as a person uses it.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const DUMPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/dumps");
const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/snapshots");

fn plimsoll(arguments: &str, input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // What has failed already reads nothing.
    let _ = child.stdin.take().expect("it is piped").write_all(input);
    child.wait_with_output().unwrap()
}

fn json(arguments: &str, input: &[u8]) -> Value {
    let output = plimsoll(&format!("diagnose {arguments} --json"), input);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

fn fails(arguments: &str, input: &[u8], expected: &[&str]) {
    let output = plimsoll(&format!("diagnose {arguments}"), input);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments}: {stderr}");
    assert!(expected.iter().all(|piece| stderr.contains(piece)) && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn dumps_are_listed_with_their_figures() {
    let report = json(&format!("{DUMPS}/ABORT_resnet50_64_b8_onednn_360MB.stderr.gz"), b"");
    assert_eq!(report["dumps"].as_array().unwrap().len(), 2);
    let first = &report["dumps"][0];
    let figures = [
        ("request_bytes", 9_437_184),
        ("limit_bytes", 377_487_360),
        ("pool_bytes", 377_487_360),
        ("in_use_bytes", 365_587_200),
        ("free_bytes", 11_900_160),
        ("largest_free_bytes", 6_815_744),
    ];
    for (key, bytes) in figures {
        assert_eq!(first[key], bytes, "{key}");
    }
    assert!(first["cause"].as_str().unwrap().starts_with("fragmentation"));
    assert!(first["findings"].is_array() && first["remedies"].is_array());
}

#[test]
fn three_lines_come_first_and_a_page_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("pool.html");
    let output =
        plimsoll(&format!("diagnose {DUMPS}/vgg16_64_init_100MB.stderr.gz -o {}", page.display()), b"");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("StatelessRandomUniformV2 asked for 32.00 MiB"), "{text}");
    assert!(lines[1].starts_with("The memory was there, but in pieces"), "{text}");
    assert!(
        lines[2].starts_with("It happened while the weights were being built") && lines[3].is_empty(),
        "{text}"
    );
    assert!(std::fs::read_to_string(page).unwrap().contains("<svg"));
}

#[test]
fn a_model_names_the_chunks_and_a_plan_that_fits() {
    let report =
        json(&format!("{DUMPS}/cnn_small_b128_graph_40MB.stderr.gz --model cnn@32 --batch 128"), b"");
    let model = &report["dumps"][0]["model"];
    // TensorFlow ran out with 40 MiB; the planned step fits.
    assert_eq!(model["fits"], true);
    assert!(model["planned_peak_bytes"].as_u64().unwrap() < 40 << 20);
    let chunks = model["chunks"].as_array().unwrap();
    let kernel = chunks.iter().find(|chunk| chunk["chunk_bytes"] == 262_144).unwrap();
    assert_eq!(
        (&kernel["exact"], &kernel["roles"]["parameter"], &kernel["roles"]["optimizer_state"]),
        (&true.into(), &1.into(), &2.into())
    );
    assert_eq!(kernel["values"][0], "dense/kernel");
    // Four times the batch fits, too, in micro-batches.
    let large = json(&format!("{DUMPS}/cnn_small_b128_graph_40MB.stderr.gz --model cnn@32 --batch 512"), b"");
    let model = &large["dumps"][0]["model"];
    assert!(model["planned_peak_bytes"].as_u64().unwrap() > 40 << 20);
    assert_eq!(model["fits"], true);
    assert!(model["squeezed"]["peak_bytes"].as_u64().unwrap() <= 40 << 20);
    let output = plimsoll(
        &format!("diagnose {DUMPS}/cnn_small_b128_graph_40MB.stderr.gz --model resnet20@32 --batch 512"),
        b"",
    );
    assert_eq!(output.status.code(), Some(1), "even planned it does not fit");
    assert!(String::from_utf8_lossy(&output.stdout).contains("these fit: --batch"));
}

/// TensorFlow's initializer failed at 230 MiB; a planned step of this model needs 319.
const MLP: &str = r#"{"class_name": "Sequential", "config": {"name": "mlp", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 784], "dtype": "float32", "name": "input"}},
    {"class_name": "Dense", "config": {"name": "a", "units": 4096, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "b", "units": 4096, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "c", "units": 10, "activation": "softmax"}}
]}}"#;

#[test]
fn a_model_that_does_not_fit_is_never_promised_to() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("mlp.json");
    std::fs::write(&model, MLP).unwrap();
    let dump = format!("{DUMPS}/mlp4096_b512_adam_230MB.stderr.gz");
    let output = plimsoll(&format!("diagnose {dump} --model {} --batch 512", model.display()), b"");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(!shown.contains("a planned layout"), "{shown}");
    assert!(
        shown.contains("a planned step (not enough): A planned step of mlp with batch 512 needs 318.84 MiB"),
        "{shown}"
    );
    let alone = plimsoll(&format!("diagnose {dump}"), b"");
    let shown = String::from_utf8_lossy(&alone.stdout);
    assert!(shown.contains("a planned layout (may help)") && shown.contains("are still to come"), "{shown}");
}

#[test]
fn memory_is_said_where_the_log_does_not() {
    let killed = b"Epoch 1\nKilled\n";
    let report = json("- --memory 8GiB --model cnn@32 --batch 128", killed);
    let dump = &report["dumps"][0];
    assert_eq!((&dump["limit_bytes"], &dump["reason"]), (&(8u64 << 30).into(), &"killed".into()));
    assert_eq!(dump["model"]["fits"], true);
    assert_eq!(json("-", killed)["dumps"][0]["limit_bytes"], Value::Null);
    // What the log says itself stays.
    let said = format!("{DUMPS}/cnn_small_b128_graph_40MB.stderr.gz");
    let output = plimsoll(&format!("diagnose {said} --memory 8GiB"), b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("note: the log says 40.0 MiB itself"));
    assert_eq!(json(&format!("{said} --memory 8GiB"), b"")["dumps"][0]["limit_bytes"], 40 << 20);
}

#[test]
fn our_own_evidence_is_explained_by_the_same_code() {
    let run = plimsoll("train cnn --data digits --mode eager --memory 2MiB --steps 4", b"");
    assert_eq!(run.status.code(), Some(1));
    let report = json("-", &run.stderr);
    let dump = &report["dumps"][0];
    assert_eq!((&dump["source"], &dump["limit_bytes"]), (&"plimsoll".into(), &(2 << 20).into()));
    assert!(dump["cause"].as_str().unwrap().starts_with("fragmentation"), "{dump:#}");
    assert_eq!(dump["not_exact"].as_array().map(Vec::len), Some(0), "nothing is rounded");
    let held: u64 =
        dump["holders"].as_array().unwrap().iter().map(|held| held["bytes"].as_u64().unwrap()).sum();
    assert_eq!(
        Some(held),
        dump["in_use_bytes"].as_u64(),
        "all holders are named, not only those that are printed"
    );
}

/// A model whose layers are called by the words of reports.
const HOSTILE: &str = r#"{"class_name": "Sequential", "config": {"name": "hostile", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 64], "dtype": "float32", "name": "input"}},
    {"class_name": "Dense", "config": {"name": "x asked for 12 GiB", "units": 512, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "parameter 9 GiB", "units": 10, "activation": "softmax"}}
]}}"#;

#[test]
fn names_of_layers_are_never_taken_for_figures() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("hostile.json");
    std::fs::write(&model, HOSTILE).unwrap();
    let run = plimsoll(&format!("train {} --data digits --mode eager --memory 300KiB", model.display()), b"");
    assert_eq!(run.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.stderr));
    let report = json("-", &run.stderr);
    let dumps = report["dumps"].as_array().unwrap();
    assert_eq!(dumps.len(), 1, "{report:#}");
    assert!(dumps[0]["request_bytes"].as_u64().unwrap() <= 300 << 10, "{report:#}");
    let holders = dumps[0]["holders"].as_array().unwrap();
    assert!(holders.iter().all(|holder| holder["bytes"].as_u64().unwrap() <= 300 << 10), "{report:#}");
}

#[test]
fn a_budget_that_no_plan_fits_is_explained() {
    let run = plimsoll("train cnn --data digits --memory 256KiB --json", b"");
    assert_eq!(run.status.code(), Some(1));
    // Planning may have told how it goes on, in lines before the evidence.
    let without_line = |mut report: Value| {
        report["dumps"][0].as_object_mut().unwrap().remove("line");
        report
    };
    let report = without_line(json("-", &run.stdout));
    assert_eq!(report, without_line(json("-", &run.stderr)));
    let dump = &report["dumps"][0];
    assert_eq!((&dump["reason"], &dump["limit_bytes"]), (&"over_budget".into(), &(256 << 10).into()));
    assert!(dump["request_bytes"].as_u64() > dump["limit_bytes"].as_u64());
    let summary = dump["summary"][0].as_str().unwrap();
    assert!(summary.starts_with("nothing was run: the smallest plan found needs"), "{summary}");
    assert!(
        !dump["holders"].as_array().unwrap().is_empty() && dump["remedies"][0]["enough"] == true,
        "{dump:#}"
    );
}

#[test]
fn evidence_that_is_missing_or_newer_is_said_to_be() {
    let sentence = b"error: step 1: host is out of memory: conv2d of layer `a` (for `b`) asked for 216 KiB, but of its 2.00 MiB only 75.0 KiB are free\n";
    fails(
        "-",
        sentence,
        &["its evidence is not there", "hint: the line that begins with `evidence:`", "older version"],
    );
    fails("-", b"evidence: {\"plimsoll_evidence\":2}\n", &["cannot be read", "version 2"]);
}

#[test]
fn snapshots_are_read_and_hostile_ones_refused() {
    let report = json(&format!("{SNAPSHOTS}/snapshot.protocol4.pickle"), b"");
    assert_eq!(report["dumps"][0]["request_bytes"], 10 << 20);
    fails(
        &format!("{SNAPSHOTS}/hostile.system.protocol4.pickle"),
        b"",
        &["wants `posix.system`", "only plain data"],
    );
}

#[test]
fn what_is_no_report_is_bad_input() {
    fails(
        "-",
        b"Epoch 1\nall is well\n",
        &["standard input: no out-of-memory report found", "hint: a report is"],
    );
    fails("-", b"", &["no out-of-memory report"]);
    fails("no-such-file", b"", &["no-such-file"]);
    fails("- --model cnn", b"", &["--batch"]);
    fails("- --model cmm --batch 4", b"", &["cmm"]);
    // Half a gzip file: what can be unpacked is read, and the end is named.
    let whole = std::fs::read(format!("{DUMPS}/lstm_b128_keras_60MB.stderr.gz")).unwrap();
    let output = plimsoll("diagnose - --json", &whole[..whole.len() / 2]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["dumps"][0]["request_bytes"], 262_144);
    assert!(!report["dumps"][0]["missing"].as_array().unwrap().is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("the input ends early"));
}
