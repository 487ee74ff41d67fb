//! Written files, whatever stands at their place: links, pipes, devices, `-`, permissions, two writers.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Commands that write a file, which stands for `{}`, with what the file begins with and how its name ends.
const WRITERS: [(&str, &[u8], &str); 10] = [
    ("fit cnn@16 --batch 8 --memory 64MiB -o {}", b"{\"format\":", ""),
    ("fit cnn@16 --batch 8 --memory 64MiB --as tensorflow -o {}", b"{", ""),
    ("train cnn --data digits --steps 1 --trace {}", b"plimsoll trace 1\n", ""),
    ("train cnn --data digits --steps 1 --save {}", b"", ".safetensors"),
    ("report run.trace -o {}", b"<!doctype html>", ""),
    ("diagnose oom.log -o {}", b"<!doctype html>", ""),
    ("export run.trace --to perfetto -o {}", b"{", ""),
    ("export run.trace --to csv -o {}", b"value,", ""),
    ("export run.trace --to binary -o {}", b"plimsoll trace 1\n", ""),
    ("export a.plan.json --to tensorflow -o {}", b"\"\"\"", ""),
];

#[test]
fn links_are_followed_and_permissions_stay() {
    let folder = folder_with_files();
    for (command, start, end) in WRITERS {
        let at = |name: &str| folder.path().join(format!("{name}{end}"));
        let _ = [at("link"), at("real")].map(fs::remove_file);
        fs::write(at("real"), "").unwrap();
        fs::set_permissions(at("real"), PermissionsExt::from_mode(0o600)).unwrap();
        symlink(at("real").file_name().unwrap(), at("link")).unwrap();
        succeeds(&command.replace("{}", &format!("link{end}")), folder.path());
        assert!(at("link").is_symlink(), "{command}");
        assert_eq!(fs::metadata(at("real")).unwrap().permissions().mode() & 0o777, 0o600, "{command}");
        let bytes = fs::read(at("real")).unwrap();
        assert!(!bytes.is_empty() && bytes.starts_with(start), "{command}");
    }
    let parts = fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part"));
    assert_eq!(parts.count(), 0, "nothing is left beside the files");
}

#[test]
fn pipes_and_devices_stay_what_they_are() {
    let folder = folder_with_files();
    for (command, start, end) in WRITERS {
        let name = format!("pipe{end}");
        let pipe = folder.path().join(&name);
        let _ = fs::remove_file(&pipe);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        succeeds(&command.replace("{}", &name), folder.path());
        let bytes = reader.join().unwrap();
        assert!(!bytes.is_empty() && bytes.starts_with(start), "{command}");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo(), "{command}");
        if end.is_empty() {
            succeeds(&command.replace("{}", "/dev/null"), folder.path());
            assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device(), "{command}");
        }
    }
}

#[test]
fn a_dash_is_standard_output() {
    let folder = folder_with_files();
    for (command, start, end) in WRITERS {
        let words = command.replace("{}", "-");
        if !end.is_empty() {
            let output = plimsoll(&words, folder.path());
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words}: {stderr}");
            assert!(stderr.contains("hint: "), "{words}: {stderr}");
            continue;
        }
        let output = succeeds(&words, folder.path());
        assert!(!output.stdout.is_empty() && output.stdout.starts_with(start), "{words}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("wrote ") && !text.contains("measured peak"), "{words}: {text}");
        assert!(!folder.path().join("-").exists(), "{words}");
    }
    let twice = plimsoll("fit cnn@16 --batch 8 --memory 64MiB -o - --json", folder.path());
    assert_eq!(twice.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&twice.stderr).contains("room for one document"));
}

#[test]
fn what_cannot_be_a_file_is_refused_before_anything_runs() {
    let folder = folder_with_files();
    fs::create_dir(folder.path().join("folder.safetensors")).unwrap();
    for (command, _, end) in WRITERS {
        let output = plimsoll(&command.replace("{}", &format!("missing/file{end}")), folder.path());
        assert_eq!(output.status.code(), Some(2), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("step 1/1"), "{command}");
    }
    let output = plimsoll("train cnn --data digits --steps 1 --save folder.safetensors", folder.path());
    assert!(String::from_utf8_lossy(&output.stderr).contains("this is a folder"));
}

#[test]
fn a_trace_has_one_writer_and_replaces_only_traces() {
    let folder = folder_with_files();
    let mut first = spawn("train cnn --data digits --steps 1000000 --trace both.trace", folder.path());
    // It records by the time it tells its peak.
    let mut told = BufReader::new(first.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("planned peak") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "the first run ended");
    }
    let second = plimsoll("train cnn --data digits --steps 1 --trace both.trace", folder.path());
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("another run writes there"), "{stderr}");
    // Whoever was killed holds no lock.
    first.kill().unwrap();
    first.wait().unwrap();
    succeeds("train cnn --data digits --steps 1 --trace both.trace", folder.path());
    let same = "train cnn --data digits --steps 1 --trace a.safetensors --save a.safetensors";
    assert_eq!(plimsoll(same, folder.path()).status.code(), Some(2));
    let refused = plimsoll("train cnn --data digits --steps 1 --trace a.plan.json", folder.path());
    assert_eq!(refused.status.code(), Some(2));
    let mut plan = String::new();
    File::open(folder.path().join("a.plan.json")).unwrap().read_to_string(&mut plan).unwrap();
    assert!(plan.starts_with("{\"format\":"), "a plan that is named by mistake is left as it is");
}

#[test]
fn tensorboard_gets_a_folder() {
    let folder = folder_with_files();
    let output = succeeds("export run.trace --to tensorboard -o logs/run1 --json", folder.path());
    let written: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(written["path"], "logs/run1/events.out.tfevents.0.plimsoll");
    assert_eq!(written["hint"], "tensorboard --logdir logs/run1");
    assert!(folder.path().join("logs/run1/events.out.tfevents.0.plimsoll").is_file());
    let output = plimsoll("export run.trace --to tensorboard -o oom.log", folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hint: TensorBoard opens folders"));
}

fn succeeds(words: &str, folder: &Path) -> Output {
    let output = plimsoll(words, folder);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn plimsoll(words: &str, folder: &Path) -> Output {
    spawn(words, folder).wait_with_output().unwrap()
}

fn spawn(words: &str, folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(words.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("oom.log"),
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1.00 GiB of \
         which 10.00 MiB is free.\n",
    )
    .unwrap();
    succeeds("train cnn --data digits --steps 1 --trace run.trace", folder.path());
    succeeds("fit cnn@16 --batch 8 --memory 64MiB -o a.plan.json", folder.path());
    folder
}
