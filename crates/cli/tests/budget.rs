//! The budget is for the whole process, as the system counts it from outside: deep models, many lengths, many threads;
//! memory taken at once; limits of the system; and runs beside each other.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a process takes beside its budget at most.
const CONSTANT: u64 = 64 << 20;

fn plimsoll(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments.split_whitespace());
    command
}

fn output(command: &mut Command) -> (Output, String) {
    let output = command.output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output, stderr)
}

fn json(arguments: &str) -> Value {
    let (output, stderr) = output(plimsoll(arguments).arg("--json"));
    assert!(output.status.success(), "{arguments}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

/// Trains with a budget of what is planned, and compares the whole process with that and the constant.
fn stays_within(arguments: &str) {
    let free = json(arguments);
    let peak = free["planned_peak_bytes"].as_u64().unwrap();
    let outcome = json(&format!("{arguments} --memory {peak}B"));
    assert_eq!(outcome["measured_peak_bytes"], peak, "{arguments}");
    let resident = outcome["peak_rss_bytes"].as_u64().unwrap();
    let [resident_mib, peak_mib] = [resident, peak].map(|bytes| bytes >> 20);
    assert!(resident <= peak + CONSTANT, "{arguments}: {resident_mib} MiB for a budget of {peak_mib} MiB");
}

#[test]
fn deep_models_stay_within_the_constant() {
    let model = "transformer@16,layers=256,width=32,ff=64,heads=2,vocab=100";
    stays_within(&format!("train {model} --data synthetic --batch 2 --steps 2"));
}

#[test]
fn many_lengths_stay_within_the_constant() {
    // The longest comes first, so that two steps show the peak.
    let lengths: Vec<String> = (1..=128).rev().map(|length| length.to_string()).collect();
    let lengths = lengths.join(",");
    for model in ["lstm", "transformer@16,layers=4,width=32,ff=64,heads=2,vocab=100"] {
        stays_within(&format!("train {model} --data synthetic --batch 4 --steps 2 --lengths {lengths}"));
    }
}

#[test]
fn many_threads_stay_within_the_constant_and_too_many_are_refused() {
    stays_within("train cnn --data synthetic --batch 32 --steps 2 --threads 256");
    for threads in ["513", "4096", "65535"] {
        let (refused, stderr) = output(&mut plimsoll(&format!("train cnn --threads {threads}")));
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("1 to 512") && stderr.contains("hint:"), "{stderr}");
    }
}

/// Scratch is a thread's own, so many threads once changed how a batch is cut, and with it the sums.
#[test]
fn losses_of_a_cut_batch_do_not_depend_on_threads() {
    for (model, memory) in [("lenet --data digits", "1722912B"), ("cnn --data synthetic", "4MiB")] {
        let run = |threads: u32| {
            let arguments = format!("train {model} --steps 3 --memory {memory} --threads {threads} --json");
            let (output, stderr) = output(&mut plimsoll(&arguments));
            assert!(output.status.success(), "{stderr}");
            let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
            let cut = stderr.lines().find(|line| line.contains("micro-batches")).map(str::to_string);
            (outcome["loss"].clone(), outcome["test_loss"].clone(), cut)
        };
        let one = run(1);
        for threads in [2, 3, 7] {
            assert_eq!(run(threads), one, "{model} with {threads} threads");
        }
    }
}

/// Everything but micro-batches leaves the bits as they are, and one micro-batch is none.
#[test]
fn who_asks_for_a_whole_batch_gets_its_numbers() {
    let model = "transformer@32,layers=3,width=32,ff=64,heads=2,vocab=100 --batch 12";
    let run = |more: &str| json(&format!("train {model} --data synthetic --steps 2 {more}"));
    let free = run("");
    let less = free["planned_peak_bytes"].as_u64().unwrap() * 8 / 10;
    let whole = run(&format!("--memory {less}B --micro-batches 1"));
    assert!(whole["planned_peak_bytes"].as_u64().unwrap() <= less);
    assert_eq!(whole["loss"], free["loss"]);
}

#[test]
fn a_batch_that_is_cut_says_that_its_sums_round_in_another_order() {
    let (_, stderr) = output(&mut plimsoll("train cnn --data synthetic --steps 1 --memory 4MiB"));
    assert!(stderr.contains("micro-batches") && stderr.contains("last digits"), "{stderr}");
    let (_, stderr) = output(&mut plimsoll("train cnn --data synthetic --steps 1 --memory 64MiB"));
    assert!(!stderr.contains("micro-batches"), "{stderr}");
}

#[test]
fn without_growth_and_without_a_limit_only_what_is_planned_is_taken() {
    let outcome = json("train cnn --data digits --steps 2 --growth off");
    let peak = outcome["planned_peak_bytes"].as_u64().unwrap();
    assert!(outcome["peak_rss_bytes"].as_u64().unwrap() <= peak + CONSTANT, "{outcome:#}");
}

#[test]
fn what_the_system_refuses_is_said_to_be_refused_by_the_system() {
    let limited = |arguments: &str, kib: u32| {
        let binary = env!("CARGO_BIN_EXE_plimsoll");
        let script = format!("ulimit -v {kib}; exec {binary} {arguments}");
        output(Command::new("sh").args(["-c", &script]))
    };
    let (refused, stderr) = limited("train vgg16@32 --data synthetic --steps 1 --threads 1", 400 << 10);
    assert_eq!(refused.status.code(), Some(1), "{stderr}");
    for piece in ["the operating system refused", "limit on address space is 400 MiB", "hint:", "ulimit -v"] {
        assert!(stderr.contains(piece), "no `{piece}` in\n{stderr}");
    }
    assert!(!stderr.contains("only"), "{stderr}");
    let (refused, stderr) = limited("train cnn --steps 1 --threads 500", 512 << 10);
    assert_eq!(refused.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("refused to start 500 threads") && stderr.contains("hint:"), "{stderr}");
}

/// A run that goes on for long, ended when the test is.
struct Running(std::process::Child);

impl Running {
    fn start(runtime: &Path, arguments: &str) -> Self {
        let mut command = plimsoll(arguments);
        command.env("XDG_RUNTIME_DIR", runtime).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn devices(runtime: &Path) -> Value {
    let (output, stderr) = output(plimsoll("devices --json").env("XDG_RUNTIME_DIR", runtime));
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn runs_beside_each_other_leave_each_other_what_they_promised() {
    let runtime = tempfile::tempdir().unwrap();
    assert_eq!(devices(runtime.path())["devices"][0]["in_use_bytes"], 0);
    // An allocator that is given a gibibyte may take it, and has taken next to nothing yet.
    let eager = "train cnn --data digits --mode eager --memory 1GiB --steps 100000000";
    let mut runs: Vec<Running> = (0..2).map(|_| Running::start(runtime.path(), eager)).collect();
    let started = Instant::now();
    let seen = loop {
        let seen = devices(runtime.path());
        if seen["runs"].as_array().unwrap().len() == 2 {
            break seen;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{seen:#}");
    };
    assert_eq!(seen["devices"][0]["in_use_bytes"], 2u64 << 30);
    let promised = seen["host"]["promised_bytes"].as_u64().unwrap();
    assert!(promised > 3 << 29, "{seen:#}");
    let host = |key: &str| seen["host"][key].as_u64().unwrap();
    let left = host("available_bytes").saturating_sub(promised);
    assert_eq!(host("automatic_limit_bytes"), left - host("reserve_bytes"));
    for (run, process) in seen["runs"].as_array().unwrap().iter().zip(sorted(&runs)) {
        assert_eq!((&run["process"], &run["who"]), (&Value::from(process), &Value::from("cnn")));
    }
    let (_, stderr) =
        output(plimsoll("train cnn --data digits --steps 1").env("XDG_RUNTIME_DIR", runtime.path()));
    assert!(stderr.contains("note: the automatic limit leaves") && stderr.contains("other runs"), "{stderr}");
    runs.iter_mut().for_each(Running::end);
    let after = devices(runtime.path());
    assert_eq!((&after["runs"], &after["devices"][0]["in_use_bytes"]), (&Value::Array(vec![]), &0.into()));
}

fn sorted(runs: &[Running]) -> Vec<u32> {
    let mut numbers: Vec<u32> = runs.iter().map(|run| run.0.id()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_runtime_folder_that_cannot_be_used_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plimsoll");
    std::fs::write(&file, "in the way").unwrap();
    for runtime in [folder.path(), Path::new("/proc"), Path::new("/nonexistent"), Path::new("")] {
        let arguments = "train cnn --data digits --steps 1 --json";
        let (output, stderr) = output(plimsoll(arguments).env("XDG_RUNTIME_DIR", runtime));
        assert!(output.status.success(), "{}: {stderr}", runtime.display());
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"in the way");
}
