//! Recording a run, and what can be done with the recording: replay it, export it, and read it though the run was
//! killed.

use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn plimsoll(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(arguments).output().expect("the binary runs")
}

fn done(arguments: &[&str]) -> Output {
    let output = plimsoll(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Records a short run and gives its file.
fn record(folder: &Path, more: &[&str]) -> String {
    let path = folder.join("run.trace").display().to_string();
    let run = ["train", "cnn", "--data", "digits", "--steps", "5", "--trace", &path];
    let output = done(&[&run, more].concat());
    assert!(text(&output.stderr).contains("recorded "), "{}", text(&output.stderr));
    path
}

#[test]
fn a_recorded_run_can_be_replayed_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    for more in [&[][..], &["--mode", "eager"], &["--mode", "eager", "--allocator", "torch"]] {
        let trace = record(folder.path(), more);
        let replayed = done(&["replay", &trace, "--json", "--allocator", "bfc,planned"]);
        let report: Value = serde_json::from_slice(&replayed.stdout).unwrap();
        assert!(report["floor_bytes"].as_u64().unwrap() > 1 << 20, "{report:#}");
        check_perfetto(&done(&["export", &trace, "--to", "perfetto", "-o", "-"]).stdout);
        check_csv(&text(&done(&["export", &trace, "--to", "csv", "-o", "-"]).stdout));
        let written = done(&["export", &trace, "--to", "text", "-o", "-"]).stdout;
        assert!(text(&written).starts_with("trace 1\ntitle \"cnn "), "{}", &text(&written)[..200]);
        let copy = folder.path().join("copy.txt").display().to_string();
        std::fs::write(&copy, &written).unwrap();
        let back = done(&["export", &copy, "--to", "binary", "-o", "-"]).stdout;
        assert_eq!(back.len() as u64, std::fs::metadata(&trace).unwrap().len(), "both forms say the same");
    }
}

/// Every event has what its phase wants, slices end, counters are numbers.
fn check_perfetto(json: &[u8]) {
    let file: Value = serde_json::from_slice(json).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let mut open: HashMap<String, f64> = HashMap::new();
    let mut phases: HashMap<&str, usize> = HashMap::new();
    let mut counters: Vec<&str> = Vec::new();
    for event in events {
        let phase = event["ph"].as_str().unwrap();
        *phases.entry(phase).or_default() += 1;
        assert!(event["pid"].is_u64() && event["name"].is_string(), "{event}");
        if phase == "M" {
            continue;
        }
        let time = event["ts"].as_f64().unwrap();
        assert!(time >= 0.0);
        let id = || format!("{} {}", event["id"], event["name"]);
        match phase {
            "C" => {
                assert!(event["args"].as_object().unwrap().values().all(Value::is_u64), "{event}");
                counters.push(event["name"].as_str().unwrap());
            }
            "b" => assert!(open.insert(id(), time).is_none() && event["args"]["bytes"].is_u64(), "{event}"),
            "e" => assert!(open.remove(&id()).is_some_and(|begin| begin <= time), "{event}"),
            "X" => assert!(event["dur"].as_f64().unwrap() > 0.0 && event["tid"].is_u64()),
            other => panic!("nobody makes a `{other}`"),
        }
    }
    assert!(open.is_empty() && phases["b"] > 100, "{phases:?}");
    let slices = events.iter().filter(|event| event["ph"] == "X").filter_map(|event| event["name"].as_str());
    let slices: Vec<&str> = slices.collect();
    assert_eq!(slices, ["step 1", "step 2", "step 3", "step 4", "step 5", "evaluation"]);
    for wanted in ["live", "activation", "parameter", "gradient", "optimizer_state", "limit", "plan's floor"]
    {
        assert!(counters.contains(&wanted), "no counter {wanted}");
    }
}

fn check_csv(csv: &str) {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("value,role,layer,op,bytes,offset,begin,end"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(
        rows.len() > 50 && rows.iter().all(|row| row.len() == 8 && row[4].parse::<u64>().is_ok()),
        "{csv}"
    );
    assert!(rows.iter().any(|row| row[1] == "activation" && !row[2].is_empty()));
}

#[test]
fn other_peoples_recordings_are_exported_and_replayed_too() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests");
    let profile = format!("{tests}/profiles/cnn_small_b32_adam.xplane.pb");
    let snapshot = format!("{tests}/snapshots/snapshot.protocol4.pickle");
    let log = format!("{tests}/data/mlp_tfdoc_0_32_sgd.txt.gz");
    for (trace, floor) in [(profile, 28_020_508), (snapshot, 16 << 20), (log, 0)] {
        for form in ["perfetto", "tensorboard", "csv", "text", "binary"] {
            assert!(!done(&["export", &trace, "--to", form, "-o", "-"]).stdout.is_empty(), "{trace} {form}");
        }
        let replayed = done(&["replay", &trace, "--json", "--allocator", "bfc"]);
        let report: Value = serde_json::from_slice(&replayed.stdout).unwrap();
        assert!(report["floor_bytes"].as_u64().unwrap() >= floor, "{trace}: {report:#}");
    }
}

#[test]
fn tensorboard_gets_a_file_that_it_finds() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), &[]);
    let place = folder.path().display().to_string();
    let output = done(&["export", &trace, "--to", "tensorboard", "-o", &place]);
    assert!(text(&output.stderr).contains(&format!("hint: tensorboard --logdir {place}")));
    let bytes = std::fs::read(folder.path().join("events.out.tfevents.0.plimsoll")).unwrap();
    assert!(text(&bytes).contains("brain.Event:2") && text(&bytes).contains("memory MiB/activation"));
    let made = folder.path().join("logs/run");
    done(&["export", &trace, "--to", "tensorboard", "-o", &made.display().to_string()]);
    assert_eq!(std::fs::read(made.join("events.out.tfevents.0.plimsoll")).unwrap(), bytes);
}

#[test]
fn a_run_that_is_killed_leaves_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["train", "mlp@64", "--data", "digits", "--steps", "100000000", "--trace"])
        .arg(&path)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let size = || std::fs::metadata(&path).map_or(0, |file| file.len());
    let start = Instant::now();
    while size() < 2000 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let path = path.display().to_string();
    let output = done(&["replay", &path, "--allocator", "planned"]);
    assert!(text(&output.stderr).contains("note: the trace is cut"), "{}", text(&output.stderr));
    assert!(text(&done(&["export", &path, "--to", "text", "-o", "-"]).stdout).contains("\nstep 1\n"));
}

#[test]
fn bad_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), &[]);
    let cases: [(&[&str], &str); 4] = [
        (&["export", "no-such-file", "--to", "csv", "-o", "-"], "cannot open no-such-file"),
        (&["export", &trace, "--to", "xls", "-o", "-"], "invalid value 'xls'"),
        (&["export", &trace, "--to", "csv", "-o", "/no/such/folder/x"], "cannot write /no/such/folder/x"),
        (
            &["train", "mlp@64", "--steps", "1", "--trace", "/no/such/folder/x"],
            "cannot write /no/such/folder/x",
        ),
    ];
    for (arguments, expected) in cases {
        let output = plimsoll(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_failure_as_json_can_be_diagnosed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("failure.json");
    let run =
        ["train", "cnn", "--data", "digits", "--mode", "eager", "--memory", "2MiB", "--steps", "4", "--json"];
    let output = plimsoll(&run);
    assert_eq!(output.status.code(), Some(1));
    let failure: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(failure["error"].as_str().unwrap().contains("host is out of memory"), "{failure:#}");
    std::fs::write(&path, &output.stdout).unwrap();
    let path = path.display().to_string();
    let diagnose = |path: &str| -> Value {
        serde_json::from_slice(&plimsoll(&["diagnose", path, "--json"]).stdout).unwrap()
    };
    let inside = diagnose(&path);
    std::fs::write(&path, &output.stderr).unwrap();
    let plain = diagnose(&path);
    assert_eq!(inside["dumps"][0]["findings"], plain["dumps"][0]["findings"], "{inside:#}");
    assert_eq!(inside["dumps"].as_array().map(Vec::len), Some(1));
    let little = plimsoll(&["train", "cnn", "--data", "digits", "--memory", "256KiB", "--json"]);
    let refused: Value = serde_json::from_slice(&little.stdout).unwrap();
    assert!(
        refused["log"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().contains("live at the floor"))
    );
    assert_eq!(little.status.code(), Some(1));
}
