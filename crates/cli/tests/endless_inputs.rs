//! Inputs that never end, never begin or are absurdly large: every command refuses them in seconds and in little
//! memory.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take, and how much address space it may have, in KiB. (Nothing here takes a second but pipes,
/// which are waited for for five; tests run side by side.)
const PATIENCE: Duration = Duration::from_secs(60);
const ADDRESS_SPACE: u64 = 3 << 20;

/// Commands with an input, which stands for `{}`; its name ends as the command wants it.
const COMMANDS: [(&str, &str); 13] = [
    ("inspect {}", ".keras"),
    ("inspect {}", ".h5"),
    ("inspect {}", ".json"),
    ("train --plan {}", ".plan.json"),
    ("train cnn --steps 1 --from {}", ".safetensors"),
    ("replay {}", ".trace"),
    ("report {} --text", ".trace"),
    ("report {} -o page.html", ".keras"),
    ("export {} --to csv -o out.csv", ".trace"),
    ("export {} --to tensorflow -o out.py", ".plan.json"),
    ("diagnose {}", ".log"),
    ("place {}", ".csv"),
    ("fit {} --memory 1MiB", ".json"),
];

#[test]
fn devices_folders_pipes_and_holes_are_refused() {
    std::thread::scope(|scope| {
        for (command, end) in COMMANDS {
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                for kind in ["zero", "random", "folder", "pipe", "sparse", "started"] {
                    let name = format!("{kind}{end}");
                    make(kind, end, &folder.path().join(&name));
                    refuse(&command.replace("{}", &name), folder.path(), Stdio::null());
                }
            });
        }
    });
}

#[test]
fn standard_input_is_refused_as_files_are() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["diagnose -", "replay -", "report - --text", "export - --to csv -o out.csv", "place -"] {
        for device in ["/dev/zero", "/dev/urandom", "/dev/null"] {
            refuse(command, folder.path(), File::open(device).unwrap().into());
        }
    }
}

/// Runs a command that must say what is wrong.
fn refuse(words: &str, folder: &Path, stdin: Stdio) {
    let script = format!("ulimit -v {ADDRESS_SPACE}; exec {} {words}", env!("CARGO_BIN_EXE_plimsoll"));
    let mut child = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("`{words}` does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words}: {stderr}");
    assert!(stderr.starts_with("error: ") || stderr.contains("\nerror: "), "{words}: {stderr}");
    let opened = ["sparse", "started", "-"].iter().any(|kind| words.contains(kind));
    assert!(opened || stderr.contains("\nhint: "), "{words}: {stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("memory allocation"), "{words}: {stderr}");
}

#[test]
fn what_is_missing_has_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    for (command, end) in COMMANDS {
        refuse(&command.replace("{}", &format!("missing{end}")), folder.path(), Stdio::null());
    }
}

fn make(kind: &str, end: &str, path: &Path) {
    match kind {
        "zero" => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        "random" => std::os::unix::fs::symlink("/dev/urandom", path).unwrap(),
        "folder" => std::fs::create_dir(path).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        _ => {
            let mut file = File::create(path).unwrap();
            let start: &[u8] = match end {
                _ if kind == "sparse" => b"",
                ".keras" => b"PK\x03\x04",
                ".h5" => b"\x89HDF\r\n\x1a\n",
                ".trace" => b"plimsoll trace 1\n",
                ".log" => b"a line\nTried to allocate 20.00 MiB. CUDA out of",
                ".csv" => b"id,lower,upper,size\n",
                _ => b"{\"format\":2,\"model\":\"",
            };
            file.write_all(start).unwrap();
            file.set_len(1 << 40).unwrap();
        }
    }
}
