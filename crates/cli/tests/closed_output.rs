//! Output whose reader goes away, as with `| head`: every command goes on to its end without a word about it.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// How much is read before the reader goes away.
const READ: [usize; 2] = [0, 20];

/// Commands that print something, and their exit codes. They run in a folder with the files they name.
const COMMANDS: [(&str, i32); 22] = [
    ("zoo", 0),
    ("devices", 0),
    ("inspect cnn@16 --batch 8", 0),
    ("inspect cnn@16 --batch 8 --as tensorflow", 0),
    ("inspect missing", 2),
    ("fit cnn@16 --batch 8 --memory 64MiB -o other.plan.json", 0),
    ("fit cnn@16 --batch 8 --memory 64MiB -o -", 0),
    ("fit cnn@16 --batch 8 --memory 1KiB", 1),
    ("fit cnn@16 --batch 8 --memory 64MiB --as tensorflow -o recipe.json", 0),
    ("replay run.trace", 0),
    ("report run.trace -o -", 0),
    ("report run.trace -o page.html", 0),
    ("report run.trace --text --color always", 0),
    ("export run.trace --to perfetto -o -", 0),
    ("export run.trace --to binary -o -", 0),
    ("export run.trace --to csv -o run.csv", 0),
    ("export a.plan.json --to tensorflow -o -", 0),
    ("diagnose oom.log", 0),
    ("diagnose oom.log -o -", 0),
    ("place problem.csv", 0),
    ("place problem.csv --offsets", 0),
    ("train cnn --data digits --steps 2 --trace other.trace --save other.safetensors", 0),
];

#[test]
fn every_command_ends_quietly_without_a_reader() {
    let folder = folder_with_files();
    for (command, code) in COMMANDS {
        for more in ["", "--json", "--help"] {
            for read in READ {
                let words = format!("{command} {more}");
                let (status, stderr) = cut_output(&words, folder.path(), read);
                assert!(!stderr.contains("panicked") && !stderr.contains("roken pipe"), "{words}: {stderr}");
                // Standard output has room for JSON or something else.
                let twice =
                    ["-o -", "--text", "--offsets", "report"].iter().any(|word| command.contains(word));
                let code = match more {
                    "--help" => 0,
                    "--json" if twice => 2,
                    _ => code,
                };
                assert_eq!(status.code(), Some(code), "{words}: {stderr}");
            }
        }
    }
    for words in ["--help", "--version", "", "nonsense --json", "train --nonsense --json"] {
        READ.iter().for_each(|&read| drop(cut_output(words, folder.path(), read)));
    }
}

#[test]
fn a_run_is_saved_though_nobody_listens() {
    let folder = folder_with_files();
    let train = "train cnn --data digits --steps 40 --save all.safetensors --trace all.trace";
    // Both streams go to one reader, as with `2>&1 | head -1`.
    let binary = env!("CARGO_BIN_EXE_plimsoll");
    let script = format!("{binary} {train} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let (plain, saved) = (plimsoll(&train.replace("all.", "plain."), folder.path()), "all.safetensors");
    assert!(plain.wait_with_output().unwrap().status.success());
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes(saved), bytes("plain.safetensors"));
    let replayed = plimsoll("replay all.trace --json", folder.path()).wait_with_output().unwrap();
    assert!(replayed.status.success() && !String::from_utf8_lossy(&replayed.stderr).contains("cut"));
}

#[test]
fn a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return eprintln!("SKIPPED: there is no /dev/full here");
    }
    let folder = folder_with_files();
    for words in ["zoo", "zoo --json", "--help", "inspect cnn@16", "report run.trace -o -", "devices --help"]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(words, folder.path()).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {stderr}");
        assert!(stderr.contains("error: cannot write to standard output"), "{words}: {stderr}");
    }
}

/// The status of a command whose standard output was closed after so many bytes, and its standard error.
fn cut_output(words: &str, folder: &Path, read: usize) -> (ExitStatus, String) {
    let mut child = plimsoll(words, folder);
    let mut stdout = child.stdout.take().unwrap();
    let mut start = vec![0; read];
    let _ = stdout.read_exact(&mut start);
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn plimsoll(words: &str, folder: &Path) -> Child {
    command(words, folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

fn command(words: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(words.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command
}

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("problem.csv", "id,lower,upper,size\na,0,4,2\nb,0,2,1\nc,3,4,1\n");
    write(
        "oom.log",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1.00 GiB of \
         which 10.00 MiB is free. Of the allocated memory 900.00 MiB is allocated by PyTorch, and 50.00 MiB is reserved by \
         PyTorch but unallocated.\n",
    );
    for words in [
        "train cnn --data digits --steps 2 --trace run.trace",
        "fit cnn@16 --batch 8 --memory 64MiB -o a.plan.json",
    ] {
        let output = plimsoll(words, folder.path()).wait_with_output().unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
    folder
}
