//! `plimsoll report` as a person uses it: plans, traces, models and logs, as a page and as text.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn plimsoll(folder: &Path, arguments: &str) -> Output {
    let words = arguments.split_whitespace();
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).env_remove("NO_COLOR").args(words).output().expect("the binary runs")
}

fn succeeds(folder: &Path, arguments: &str) -> String {
    let output = plimsoll(folder, arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("stdout is text")
}

fn fails(folder: &Path, arguments: &str, code: i32, expected: &[&str]) {
    let output = plimsoll(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
    for piece in expected {
        assert!(stderr.contains(piece), "{arguments}: no `{piece}` in\n{stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

/// Nothing in a page may come from elsewhere.
fn page(path: PathBuf) -> String {
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for foreign in ["http:", "https:", " src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{} contains `{foreign}`", path.display());
    }
    page
}

#[test]
fn a_model_a_plan_and_a_trace_stand_side_by_side() {
    let folder = folder();
    let at = folder.path();
    succeeds(at, "fit cnn@8,channels=1 --batch 8 --memory 2MiB -o cnn.plan.json");
    succeeds(at, "train cnn --data digits --batch 8 --steps 2 --mode eager --trace cnn.trace");
    let told = succeeds(
        at,
        "report cnn@8,channels=1 cnn.plan.json cnn.trace --batch 8 --label written -o page.html",
    );
    assert!(told.starts_with("wrote page.html ("), "{told}");
    let page = page(at.join("page.html"));
    for name in ["\"name\":\"written\"", "\"name\":\"cnn\"", "<title>Memory of written, cnn, cnn</title>"] {
        assert!(page.contains(name), "no {name}");
    }
    assert!(page.contains("\"limit\":2097152"), "the plan's budget is a line");
    assert_eq!(succeeds(at, "report cnn.plan.json -o -"), {
        succeeds(at, "report cnn.plan.json");
        std::fs::read_to_string(at.join("report.html")).unwrap()
    });
}

#[test]
fn files_of_keras_and_recipes_are_shown() {
    let folder = folder();
    let at = folder.path();
    let keras = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/keras/files/transfer.keras");
    std::fs::copy(keras, at.join("model.keras")).unwrap();
    succeeds(at, "fit model.keras --batch 8 --memory 64MiB -o model.plan.json");
    succeeds(at, "fit model.keras --batch 8 --memory 64MiB --as tensorflow -o recipe.json");
    let told = succeeds(at, "report model.keras model.plan.json recipe.json --batch 8 --json");
    let exhibits: serde_json::Value = serde_json::from_str(&told).unwrap();
    let peak = |index: usize| exhibits["exhibits"][index]["peak_bytes"].as_u64().unwrap();
    assert!(peak(0) > 0 && peak(0) == peak(1), "{told}");
    let tensorflow = &exhibits["exhibits"][2];
    assert!(tensorflow["headline"].as_str().unwrap().contains("in TensorFlow"), "{told}");
    assert!(tensorflow["peak_bytes"].as_u64() <= tensorflow["limit_bytes"].as_u64() && peak(2) > 0, "{told}");
    succeeds(at, "report model.keras recipe.json -o page.html");
    page(at.join("page.html"));
    fails(at, "report missing.keras", 2, &["missing.keras"]);
}

/// A plan and its model can be used from anywhere, and moved together.
#[test]
fn plans_find_their_model_from_another_folder() {
    let folder = folder();
    let at = folder.path();
    let keras = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/keras/files/transfer.keras");
    for below in ["models", "plans", "elsewhere"] {
        std::fs::create_dir(at.join(below)).unwrap();
    }
    std::fs::copy(keras, at.join("models/model.keras")).unwrap();
    succeeds(at, "fit models/model.keras --batch 8 --memory 64MiB -o plans/a.json");
    succeeds(at, "fit models/model.keras --batch 8 --memory 64MiB --as tensorflow -o plans/b.json");
    std::fs::create_dir(at.join("moved")).unwrap();
    for below in ["models", "plans", "elsewhere"] {
        std::fs::rename(at.join(below), at.join("moved").join(below)).unwrap();
    }
    let elsewhere = at.join("moved/elsewhere");
    succeeds(&elsewhere, "train --plan ../plans/a.json --data synthetic --steps 1");
    succeeds(&elsewhere, "report ../plans/a.json ../plans/b.json --text");
    // A script finds the model from where it stands; one that stands nowhere yet names all of the path.
    succeeds(&elsewhere, "export ../plans/b.json --to tensorflow -o train.py");
    let script = std::fs::read_to_string(elsewhere.join("train.py")).unwrap();
    assert!(script.contains("load_model(os.path.join(HERE, \"../models/model.keras\"))"), "{script}");
    let script = succeeds(&elsewhere, "export ../plans/b.json --to tensorflow -o -");
    let path = std::fs::canonicalize(at.join("moved/models/model.keras")).unwrap();
    assert!(script.contains(&format!("{:?}", path.to_str().unwrap())), "{script}");
}

#[test]
fn text_has_the_plans_figures_and_colours_only_if_asked() {
    let folder = folder();
    let inspected = succeeds(folder.path(), "inspect mlp@64 --batch 16 --json");
    let peak = inspected.lines().find_map(|line| line.trim().strip_prefix("\"peak_bytes\": ")).unwrap();
    let peak = peak.trim_end_matches(',');
    let plain = succeeds(folder.path(), "report mlp@64 --batch 16 --text");
    assert!(plain.contains(&format!("{peak} bytes")), "no {peak} in\n{plain}");
    for section in ["most live at once", "live bytes over", "layout: space against time", "largest layers"] {
        assert!(plain.contains(section), "no `{section}` in\n{plain}");
    }
    assert!(!plain.contains('\u{1b}'));
    assert!(
        succeeds(folder.path(), "report mlp@64 --batch 16 --text --color always").contains("\u{1b}[38;5;25m")
    );
}

#[test]
fn a_log_makes_the_page_of_its_diagnosis() {
    let folder = folder();
    let dump =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/dumps/FRAG_checkerboard_128MB.stderr.gz");
    std::fs::copy(dump, folder.path().join("oom.log.gz")).unwrap();
    succeeds(folder.path(), "report oom.log.gz -o oom.html");
    let page = page(folder.path().join("oom.html"));
    assert!(page.contains("Out of memory: oom") && page.contains("What would help"));
    assert!(succeeds(folder.path(), "report oom.log.gz --text").contains("fragmentation"));
    std::fs::write(folder.path().join("a.txt"), "trace 1\n").unwrap();
    fails(folder.path(), "report a.txt oom.log.gz", 2, &["cannot stand beside", "hint: "]);
}

#[test]
fn what_cannot_be_shown_is_named() {
    let folder = folder();
    let at = folder.path();
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).unwrap();
    write("prose.txt", "Dear reader,\n");
    write("broken.plan.json", "{\"format\":1,\"model\":\"cnn\"");
    write("future.plan.json", "{\"format\":99}");
    write(
        "absurd.txt",
        "trace 1\nlabel \"a\" \"\" \"\" \"\"\n0 take 0 at 0 bytes 18446744073709551615 label 0\n",
    );
    fails(at, "report prose.txt", 2, &["error: prose.txt is no plan, no trace", "`Dear reader,`", "hint: "]);
    fails(at, "report nobody.trace", 2, &["no file and no model `nobody.trace`", "hint: "]);
    fails(at, "report broken.plan.json", 2, &["broken.plan.json is not a plan", "hint: "]);
    fails(at, "report future.plan.json", 2, &["has the format 99", "hint: "]);
    fails(at, "report absurd.txt", 2, &["absurd.txt: event 0"]);
    fails(at, "report mlp@64 --label a --label b", 2, &["2 names for 1 inputs"]);
    fails(at, "report cnn@8,channels=1 --memory 10KiB", 1, &["error: the smallest plan found needs"]);
    fails(at, "report mlp@64 -o no/such/folder/page.html", 2, &["cannot write no/such/folder/page.html"]);
    fails(at, "report mlp@64 --color always", 2, &["--text"]);
    assert!(!at.join("report.html").exists(), "what fails writes nothing");
}
