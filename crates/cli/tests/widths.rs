//! Every command at several widths of the terminal: no line of a chart or table is wider than it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WIDTHS: [usize; 5] = [40, 60, 80, 100, 160];

fn run(columns: Option<usize>, folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments.split_whitespace()).current_dir(folder);
    command.env("XDG_CACHE_HOME", folder).env_remove("COLUMNS").env_remove("NO_COLOR");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns.to_string());
    }
    command.output().unwrap()
}

fn told(columns: Option<usize>, folder: &Path, arguments: &str) -> String {
    let output = run(columns, folder, arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{arguments}: {complaint}");
    // A refusal is told on standard error.
    format!("{}{complaint}", String::from_utf8_lossy(&output.stdout))
}

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path).canonicalize().unwrap()
}

/// Whether a terminal may break a line without harm: prose, a command to copy, or code. Lines of tables and charts have
/// columns, labels or blocks.
fn is_prose(line: &str) -> bool {
    let aligned = line.trim().contains("  ") || line.contains(['█', '▏', '░', '▒', '|']);
    !aligned || line.starts_with("    ") || line.starts_with("hint:")
}

#[test]
fn no_line_of_a_chart_or_table_is_wider_than_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("problem.csv"), "id,lower,upper,size\na,0,4,1024\nb,2,9,4096\nc,5,90,512\n")
        .unwrap();
    let recorded = "train cnn --data digits --steps 2 --memory 8MiB --trace own.trace";
    told(None, folder, recorded);
    let dump = data("import/tests/dumps/FRAG_checkerboard_128MB.stderr.gz");
    let profile = data("import/tests/profiles/cnn_small_b32_adam.xplane.pb");
    let commands = [
        "zoo".to_string(),
        "devices".to_string(),
        "inspect cnn@8,channels=1 --batch 4".to_string(),
        "inspect cnn@8,channels=1 --batch 4 --as tensorflow".to_string(),
        "fit cnn@8,channels=1 --batch 32 --memory 1.5MiB".to_string(),
        "fit cnn@8,channels=1 --batch 32 --memory 64MiB --as tensorflow".to_string(),
        "fit cnn@8,channels=1 --batch 32 --memory 1MiB".to_string(),
        "train mlp --data digits --steps 2 --memory 64MiB".to_string(),
        "train mlp --data digits --steps 2 --memory 64MiB --mode eager".to_string(),
        "place problem.csv".to_string(),
        "replay own.trace".to_string(),
        format!("replay {}", profile.display()),
        "report --text own.trace cnn@8,channels=1".to_string(),
        format!("report --text {}", profile.display()),
        format!("diagnose {}", dump.display()),
    ];
    for command in &commands {
        let free = told(None, folder, command);
        assert!(!free.is_empty(), "{command}");
        for columns in WIDTHS {
            let text = told(Some(columns), folder, command);
            for line in text.lines().filter(|line| !is_prose(line)) {
                let length = line.chars().count();
                assert!(length <= columns, "{command}: {length} of {columns} columns: `{line}`\n{text}");
            }
        }
    }
}

#[test]
fn charts_use_the_room_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let longest = |columns| {
        let text = told(columns, folder.path(), "inspect resnet20@32 --batch 4");
        let chart = text.lines().filter(|line| line.contains('▏')).map(|line| line.chars().count());
        chart.max().unwrap()
    };
    for columns in WIDTHS {
        assert!((columns - 8..=columns).contains(&longest(Some(columns))), "{columns}");
    }
    assert!((72..=80).contains(&longest(None)), "without a terminal 80 columns");
    assert!(longest(Some(7)) <= 40, "no terminal counts as narrower than 40 columns");
    assert!(longest(Some(usize::MAX)) <= 500, "nor as wider than anybody reads");
}

#[test]
fn the_zoo_fits_a_hundred_columns_with_every_word_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for columns in [Some(100), None] {
        let text = told(columns, folder.path(), "zoo");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let row = text.lines().find(|line| line.starts_with("resnet50 ")).unwrap();
        assert!(row.contains("@224 pixels") && row.contains("23,608,202"), "{text}");
    }
}

#[test]
fn without_a_terminal_progress_is_plain_lines() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(None, folder.path(), "train mlp --data digits --steps 20 --memory 64MiB");
    let told = String::from_utf8(output.stderr).unwrap();
    let lines = told.lines().filter(|line| line.starts_with("step ")).count();
    assert_eq!(lines, 10, "{told}");
    assert!(told.lines().any(|line| line.starts_with("step 20/20 · loss ")), "{told}");
    assert!(!told.contains(['\u{1b}', '\r']), "{told:?}");
}

/// A terminal that cannot write a line anew, such as an editor's, gets lines; `script` makes one.
#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let folder = tempfile::tempdir().unwrap();
    let command =
        format!("{} train mlp --data digits --steps 20 --memory 64MiB", env!("CARGO_BIN_EXE_plimsoll"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "dumb").current_dir(folder.path());
    let Ok(output) = script.output() else {
        println!("skipped: there is no `script` to make a terminal with");
        return;
    };
    let told = String::from_utf8_lossy(&output.stdout);
    let lines = told.lines().filter(|line| line.starts_with("step ")).count();
    assert_eq!(lines, 10, "{told}");
    assert!(!told.contains('\u{1b}'), "{told:?}");
}
