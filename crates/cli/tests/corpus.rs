//! Files that earlier versions wrote open, or are refused by their version: never as if they were damaged.

use std::path::{Path, PathBuf};
use std::process::Command;

/// How a file of the corpus is used, and what the program says of it.
const USES: [(&str, &str, Result<&str, &str>); 8] = [
    (
        "format-1.plan.json",
        "train --data synthetic --steps 1 --plan",
        Err("has the format 1; this version reads"),
    ),
    (
        "format-2.plan.json",
        "train --data synthetic --steps 1 --plan",
        Err("has the format 2; this version reads"),
    ),
    (
        "format-3.plan.json",
        "train --data synthetic --steps 1 --plan",
        Err("has the format 3; this version reads"),
    ),
    ("tensorflow-1.plan.json", "export --to tensorflow -o script.py", Ok("")),
    ("version-1.trace", "report --text", Ok("16064 bytes")),
    ("state-1.safetensors", "train mlp@6,classes=3 --data synthetic --batch 2 --steps 3 --from", Ok("equal")),
    ("hdf5-pure.keras", "train --data digits --steps 1 --batch 16", Ok("equal")),
    ("own-writer.keras", "train --data digits --steps 1 --batch 16", Ok("equal")),
];

#[test]
fn files_of_earlier_versions_open_or_are_refused_by_version() {
    for (file, arguments, expected) in USES {
        let scratch = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(arguments.split_whitespace())
            .arg(corpus().join(file))
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let [said, complained] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        match expected {
            Ok(text) => assert!(output.status.success() && said.contains(text), "{file}: {said}{complained}"),
            Err(text) => {
                assert!(!output.status.success() && complained.contains(text), "{file}: {complained}");
                assert!(complained.contains("hint:"), "{file}: {complained}");
            }
        }
    }
}

#[test]
fn every_file_is_used_and_has_an_origin() {
    let origin = std::fs::read_to_string(corpus().join("ORIGIN.md")).unwrap();
    for entry in std::fs::read_dir(corpus()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let used = name == "ORIGIN.md" || USES.iter().any(|(file, ..)| *file == name);
        assert!(used && (name == "ORIGIN.md" || origin.contains(&format!("`{name}`"))), "{name}");
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}
