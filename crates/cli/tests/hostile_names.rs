//! Files whose names and contents want to talk to the terminal: everything is shown, nothing is obeyed.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

/// Clears the screen, sets the title, rings, forges a line, turns the direction of writing.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\x07\r\nerror: forged\n\u{9b}31m\u{202e}\u{2066}\u{200b}";

#[test]
fn what_files_say_reaches_no_terminal_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let evil_log = format!("a{}.log", "\u{1b}[2J\x07\u{202e}");
    let files: [(&str, String); 9] = [
        ("model.json", keras("Dense", EVIL).to_string()),
        ("class.json", keras(EVIL, "dense").to_string()),
        ("dtype.json", keras("Dense", "dense").to_string().replace("float32", &escaped(EVIL))),
        ("bad.json", format!("{{\"{EVIL}\": ")),
        ("a.csv", "id,lower,upper,size\n\u{1b}[2J\x07\u{202e},0,1,4\n".to_string()),
        ("b.csv", format!("id,lower,upper,size\n{EVIL},0,1\n")),
        ("run.trace", trace()),
        (&evil_log, log()),
        ("evil.plan.json", json!({"format": 2, "model": EVIL, "batch": EVIL}).to_string()),
    ];
    for (name, text) in &files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let commands = [
        "inspect model.json --batch 2",
        "inspect model.json --batch 2 --as tensorflow",
        "inspect class.json",
        "inspect dtype.json",
        "inspect bad.json",
        "fit model.json --batch 2 --memory 1MiB -o model.plan.json",
        "fit model.json --batch 2 --memory 100B",
        "train model.json --batch 2 --data synthetic --steps 1",
        "train --plan evil.plan.json",
        "export evil.plan.json --to tensorflow -o x.py",
        "place a.csv",
        "place b.csv",
        "place run.trace",
        "replay run.trace",
        "replay a.csv",
        "report run.trace --text --color never",
        "report bad.json --text",
        "export b.csv --to csv -o -",
        &format!("diagnose {evil_log}"),
        &format!("report {evil_log} --text"),
        &format!("diagnose missing{evil_log}"),
        &format!("train cnn --from {evil_log}"),
        &format!("inspect {evil_log}.keras"),
        &format!("zoo {evil_log}"),
    ];
    for command in commands {
        for more in ["", " --json"] {
            let output = plimsoll(&format!("{command}{more}"), folder.path());
            for bytes in [&output.stdout, &output.stderr] {
                let text = std::str::from_utf8(bytes).expect("what is printed is UTF-8");
                let hidden = text.chars().find(|c| *c != '\n' && is_hidden(*c));
                assert_eq!(hidden, None, "{command}{more}:\n{text:?}");
                assert!(!text.contains("\nerror: forged"), "{command}{more}:\n{text}");
                assert!(!text.contains("panicked"), "{command}{more}:\n{text}");
            }
            assert!(matches!(output.status.code(), Some(0..=2)), "{command}{more}: {}", output.status);
        }
    }
}

/// Documents are written as they are, but not to a terminal.
#[test]
fn documents_are_escaped_on_a_terminal() {
    if Command::new("script").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI needs `script` (util-linux) for this test");
        return eprintln!("SKIPPED: there is no `script` to make a terminal");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.trace"), trace()).unwrap();
    std::fs::write(folder.path().join("a.csv"), "id,lower,upper,size\n\u{1b}[2J\x07\u{202e},0,1,4\n")
        .unwrap();
    for words in [
        "export run.trace --to csv -o -",
        "export run.trace --to text -o -",
        "place a.csv --offsets",
        "report run.trace -o -",
    ] {
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_plimsoll"));
        let output =
            Command::new("script").args(["-qec", &line, "/dev/null"]).current_dir(folder.path()).output();
        let output = output.unwrap().stdout;
        let text = std::str::from_utf8(&output).expect("what is printed is UTF-8");
        // A terminal ends lines with two characters.
        let hidden = text.replace("\r\n", "\n").chars().find(|c| *c != '\n' && *c != '\t' && is_hidden(*c));
        assert_eq!(hidden, None, "{words}: {text:?}");
        assert!(text.contains("\\u"), "{words}: {text:?}");
        // For another program it is as it was.
        assert!(plimsoll(words, folder.path()).stdout.iter().any(|byte| *byte > 0x7f), "{words}");
    }
}

/// Written down here again, on purpose.
fn is_hidden(c: char) -> bool {
    (c as u32) < 0x20
        || (0x7f..0xa0).contains(&(c as u32))
        || "\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{2060}\u{feff}".contains(c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

fn plimsoll(words: &str, folder: &Path) -> Output {
    let words = words.split(' ');
    Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(words).current_dir(folder).output().unwrap()
}

fn escaped(text: &str) -> String {
    Value::from(text).to_string().trim_matches('"').to_string()
}

/// A sequential model with one layer.
fn keras(class: &str, name: &str) -> Value {
    let input = json!({"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "dtype": "float32", "name": "input"}});
    let layer = json!({"class_name": class, "config": {"name": name, "units": 3, "activation": "softmax", "dtype": "float32"}});
    json!({"class_name": "Sequential", "config": {"name": EVIL, "layers": [input, layer]}})
}

fn trace() -> String {
    let evil = Value::from(EVIL).to_string();
    format!("trace 1\nlabel {evil} {evil} {evil} {evil}\n0 take 0 at 0 bytes 1024 label 0\n")
}

fn log() -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which \
         10.00 MiB is free. {EVIL}\n2026-01-01 00:00:00.0: W tensorflow/core/common_runtime/bfc_allocator.cc:482] Allocator \
         (GPU_0_bfc\u{1b}[2J) ran out of memory trying to allocate 4.00GiB (rounded to 4294967296)requested by op model/\u{1b}[31m\x07\u{202e}\n"
    )
}
