//! Training on data of one's own, and what is said about data that cannot be trained on.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn plimsoll(arguments: &str, folder: &Path) -> Output {
    let words = arguments.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(words).current_dir(folder).output().unwrap()
}

fn report(arguments: &str, folder: &Path) -> Value {
    let output = plimsoll(&format!("{arguments} --json"), folder);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(arguments: &str, folder: &Path, expected: &str) {
    let output = plimsoll(arguments, folder);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(expected), "{arguments}: {text}");
    assert!(!text.contains("panicked"), "{arguments}: {text}");
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../input/tests/golden").join(name)
}

/// A folder with a copy of the golden images: the classes a, b and c.
fn photos(folder: &Path) {
    for class in ["a", "b", "c"] {
        std::fs::create_dir_all(folder.join("photos").join(class)).unwrap();
        for entry in std::fs::read_dir(golden("images").join(class)).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, folder.join("photos").join(class).join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// 400 rows of which a model can tell the class: the sign of a sum.
fn table(folder: &Path) {
    let mut text = "width,height,label\n".to_string();
    for row in 0..400 {
        let (x, y) = ((row * 37 % 101) as f32 / 50.0 - 1.0, (row * 53 % 97) as f32 / 48.0 - 1.0);
        text += &format!("{x},{y},{}\n", if x + y > 0.0 { "large" } else { "small" });
    }
    std::fs::write(folder.join("table.csv"), text).unwrap();
}

#[test]
fn a_folder_of_images_is_trained_on_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    photos(folder);
    let run = "train cnn@16 --data photos --batch 4 --steps 12 --memory 8MiB --validation 0.2 --seed 3";
    let output = plimsoll(run, folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("17 samples and 4 to judge by, 3 classes: a, b, c"), "{said}");
    assert!(said.contains("images of 5x3 to 70x70") && said.contains("7 are turned"), "{said}");
    let outcome = report(run, folder);
    assert_eq!(outcome["planned_peak_bytes"], outcome["measured_peak_bytes"]);
    let bytes = |name: &str| outcome["input"][name].as_u64().unwrap();
    assert!(bytes("peak_bytes") <= bytes("memory_bytes"));
    assert!(outcome["planned_peak_bytes"].as_u64().unwrap() + bytes("memory_bytes") <= 8 << 20);
    // The whole process: the budget, and what the program takes by itself.
    assert!(outcome["peak_rss_bytes"].as_u64().unwrap() <= (8 + 64) << 20);
    for threads in ["--threads 1", "--mode eager --threads 3"] {
        assert_eq!(report(&format!("{run} {threads}"), folder)["loss"], outcome["loss"], "{threads}");
    }
}

#[test]
fn a_run_goes_on_with_the_next_sample() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    photos(folder);
    let text =
        "path = \"photos\"\npixels = \"-1..1\"\n[augment]\nflip = true\ncrop = 0.7\nbrightness = 0.3\n";
    std::fs::write(folder.join("data.toml"), text).unwrap();
    let run = "train cnn@12 --data data.toml --batch 4 --seed 5";
    let whole = report(&format!("{run} --steps 14 --save whole.safetensors"), folder);
    report(&format!("{run} --steps 7 --save half.safetensors"), folder);
    let second = "train cnn@12 --data data.toml --batch 4 --steps 14 --from half.safetensors";
    assert_eq!(report(second, folder)["loss"], whole["loss"]);
}

#[test]
fn tables_arrays_and_files_like_those_of_mnist_are_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let outcome =
        report("train mlp --data table.csv --epochs 15 --validation 0.25 --learning-rate 0.01", folder);
    assert!(outcome["accuracy_on_test"] == true && outcome["accuracy"].as_f64().unwrap() > 0.9, "{outcome}");
    let idx = golden("idx");
    let idx = idx.to_str().unwrap();
    let outcome = report(&format!("train lenet --data {idx} --batch 3 --steps 4"), folder);
    assert!(outcome["test_loss"].is_number(), "the second part is judged by");
    let stored = golden("stored.npz");
    report(&format!("train mlp@12 --data {} --batch 2 --steps 3", stored.display()), folder);
    let records = golden("pictures.tfrecord");
    report(&format!("train cnn@16 --data {} --batch 2 --steps 2", records.display()), folder);
}

#[test]
fn broken_images_stop_a_run_by_their_names_or_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    photos(folder);
    let whole = std::fs::read(folder.join("photos/a/full.jpg")).unwrap();
    // The header is whole, so that it is found when the image is wanted.
    std::fs::write(folder.join("photos/b/cut.jpg"), &whole[..whole.len() * 2 / 3]).unwrap();
    let run = "train cnn@12 --data photos --batch 4 --epochs 2";
    refused(run, folder, "photos/b/cut.jpg: the JPEG is cut off");
    std::fs::write(folder.join("photos/c/empty.png"), b"").unwrap();
    refused(run, folder, "photos/c/empty.png: it is empty or cut off");
    std::fs::write(folder.join("photos/c/page.jpg"), b"<html>").unwrap();
    let outcome = report(&format!("{run} --on-bad-sample skip"), folder);
    assert_eq!(outcome["input"]["left_out_count"], 3);
    let looked = plimsoll("data photos --size 32 --json", folder);
    assert_eq!(looked.status.code(), Some(1), "{}", String::from_utf8_lossy(&looked.stderr));
    let looked: Value = serde_json::from_slice(&looked.stdout).unwrap();
    assert_eq!(looked["broken"].as_array().unwrap().len(), 3);
    assert_eq!(looked["classes"].as_array().unwrap().len(), 3);
}

#[test]
fn bombs_are_refused_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    photos(folder);
    // A PNG that says it has 60,000 x 60,000 pixels.
    let mut bomb = std::fs::read(folder.join("photos/c/colour.png")).unwrap();
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    std::fs::write(folder.join("photos/c/bomb.png"), &bomb).unwrap();
    refused(
        "train cnn@12 --data photos --batch 4",
        folder,
        "bomb.png: the image says it has 60000 x 60000 pixels",
    );
    // One that could be decoded, with more memory.
    bomb[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
    std::fs::write(folder.join("photos/c/bomb.png"), &bomb).unwrap();
    let run = "train cnn@12 --data photos --batch 4 --memory 32MiB";
    refused(run, folder, "input memory leaves");
    let outcome = report(&format!("{run} --steps 6 --on-bad-sample skip"), folder);
    assert_eq!(outcome["input"]["left_out_count"], 1);
    assert!(outcome["peak_rss_bytes"].as_u64().unwrap() <= (32 + 64) << 20);
}

#[test]
fn data_that_do_not_go_with_the_model_are_refused_before_the_first_step() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    photos(folder);
    table(folder);
    std::fs::create_dir_all(folder.join("photos/d")).unwrap();
    let empty = plimsoll("train cnn@12 --data photos --batch 4 --steps 2", folder);
    assert!(String::from_utf8_lossy(&empty.stderr).contains("the class `d` has no images"));
    refused("train cnn@12,classes=2 --data photos --batch 4", folder, "4 classes in `class`");
    refused("train cnn@12 --data none/", folder, "none/: there is no such file or folder");
    refused(
        "train mlp@7 --data table.csv",
        folder,
        "takes f32[7], but the data has 2 columns: `width`, `height`",
    );
    refused("train mlp --data table.csv --target price", folder, "it has no column `price`");
    refused("train mlp --data digits --target price", folder, "no effect on the data set `digits`");
    std::fs::write(folder.join("short.csv"), "a,label\n1,0\n2\n").unwrap();
    refused("train mlp --data short.csv", folder, "short.csv, row 2: it has 1 fields, the first line 2");
    std::fs::write(folder.join("range.csv"), "a,b,label\n1,1,0\n2,2,5\n").unwrap();
    refused(
        "train mlp@2,classes=3 --data range.csv --batch 1",
        folder,
        "numbers from 0 to 5, where 0 to 2 are meant",
    );
    std::fs::write(folder.join("hole.csv"), "a,b,label\n1,,0\n2,2,1\n").unwrap();
    refused("train mlp --data hole.csv", folder, "`b` has no value in 1 rows, the first is row 1");
    std::fs::write(folder.join("wrong.toml"), "path = \"photos\"\naugmentation = 1\n").unwrap();
    refused("train cnn@12 --data wrong.toml", folder, "augmentation");
    refused("train cnn@12 --data photos --validation 2", folder, "validation = 2 is no share");
    refused("train cnn@12 --data photos --input-memory 4KiB", folder, "input memory");
}
