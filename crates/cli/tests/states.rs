//! Runs that are saved and go on, from the command line.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn plimsoll(arguments: &str, folder: &Path) -> Output {
    let words = arguments.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(words).current_dir(folder).output().unwrap()
}

fn loss(arguments: &str, folder: &Path) -> Value {
    let output = plimsoll(&format!("{arguments} --json"), folder);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    outcome["loss"].clone()
}

#[test]
fn a_run_goes_on_from_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = "train lenet --data digits --batch 100";
    let whole = loss(&format!("{model} --steps 20 --seed 4 --save whole.safetensors"), folder);
    loss(&format!("{model} --steps 8 --seed 4 --save half.safetensors"), folder);
    assert_eq!(loss(&format!("{model} --steps 20 --from half.safetensors"), folder), whole);
    let again = "--mode eager --save again.safetensors";
    assert_eq!(loss(&format!("{model} --steps 20 --from half.safetensors {again}"), folder), whole);
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(read("again.safetensors") == read("whole.safetensors"), "the files differ");
}

#[test]
fn what_cannot_be_saved_or_gone_on_from_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    loss("train lenet --data digits --steps 2 --save two.safetensors", folder);
    std::fs::write(folder.join("no.safetensors"), b"not one").unwrap();
    for (arguments, expected) in [
        ("train lenet --steps 4 --from none.safetensors", "none.safetensors: No such file"),
        ("train lenet --steps 4 --from no.safetensors", "too few for a safetensors file"),
        ("train lenet --steps 2 --from two.safetensors", "4 steps in all are 2 more"),
        ("train cnn --steps 4 --from two.safetensors", "the state"),
        ("train lenet --steps 4 --save none/out.safetensors", "no file can be made in none"),
        ("train lenet --steps 4 --save /proc/out.safetensors", "cannot write /proc/out.safetensors"),
        ("train lenet --steps 4 --save /proc/version.safetensors", "hint: write it where files can be made"),
        ("train lenet --steps 4 --save out.keras", "a model of the zoo has no Keras configuration"),
    ] {
        let output = plimsoll(&format!("{arguments} --data digits"), folder);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments}: {text}");
        assert!(text.contains(expected), "{arguments}: {text}");
        assert!(!text.contains("step 4/4"), "{arguments}: {text}");
    }
    let other =
        plimsoll("train lenet --data digits --steps 4 --optimizer sgd --from two.safetensors", folder);
    let text = String::from_utf8_lossy(&other.stderr);
    assert!(other.status.success() && text.contains("they are left out"), "{text}");
}
