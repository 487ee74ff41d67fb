//! Pages in a real browser: `browser/click_through.py` clicks through them in a headless Chromium.
//!
//! It needs what `browser/install.sh` installs. Without it the test says that it is skipped; where `CI` is `true` it
//! installs it, and fails if it cannot.

use plimsoll_import::oomlog;
use plimsoll_report::diagnosis::{diagnose, html};
use plimsoll_report::exhibit::{Figures, look};
use plimsoll_report::{Exhibit, page};
use plimsoll_trace::{Bytes, shown, text};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;

#[test]
fn pages_do_what_they_promise_in_a_browser() {
    let Some(python) = python() else {
        // `cargo xtask check` says it again at its end, where somebody sees it.
        println!(
            "SKIPPED: pages were not opened in a browser; crates/report/tests/browser/install.sh installs one"
        );
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    write_pages(&folder);
    let output = Command::new(python).arg(script("click_through.py")).arg(&folder).output().unwrap();
    let (told, problems) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{told}");
    assert!(output.status.success(), "{told}\n{problems}");
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(name)
}

/// The Python that has what it takes; none where it is missing and this is no CI.
fn python() -> Option<String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let install = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.arg(script("install.sh")).args(arguments).arg(&directory).stderr(Stdio::inherit());
        let output = command.output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    match install(&["--check"]) {
        Some(python) => Some(python),
        None if is_ci => Some(install(&[]).expect("the browser and its driver can be installed")),
        None => None,
    }
}

fn write_pages(folder: &Path) {
    let write = |name: &str, page: String| std::fs::write(folder.join(name), page).unwrap();
    let small = small();
    std::fs::write(folder.join("small.json"), expected(&small).to_string()).unwrap();
    let mut other = small.clone();
    other.name = "the same without a limit".to_string();
    other.limit = None;
    write("small.html", page::print("Small", std::slice::from_ref(&small)));
    write("pair.html", page::print("A pair", &[small, other]));
    write("quiet.html", page::print("Quiet", &[exhibit("quiet", &long_wait())]));
    let tiny = exhibit("tiny", &format!("{LABEL}0 take 0 at 0 bytes 65536 label 0\n0 free 0\n"));
    let huge = exhibit("huge", &format!("{LABEL}0 take 0 at 0 bytes 67108864 label 0\n0 free 0\n"));
    let counted = Exhibit { reported: Some(Bytes(32 * MIB)), limit: Some(Bytes(64 << 30)), ..huge.clone() };
    write("reported.html", page::print("Reported", &[counted]));
    write("scales.html", page::print("Scales", &[tiny, huge]));
    write("large.html", page::print("Large", &[exhibit("large", &large())]));
    let hostile = "<img src=x onerror=hacked=1>";
    let trace = format!(
        "label {0} {0} {0} {0}\n0 take 0 at 0 bytes 8 label 0\n",
        serde_json::to_string(hostile).unwrap()
    );
    write("hostile.html", page::print("</script><script>hacked=1</script>", &[exhibit(hostile, &trace)]));
    write("empty.html", page::print("Empty", &[exhibit("empty", "")]));
    let dump =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/dumps/FRAG_checkerboard_128MB.stderr.gz");
    let log = oomlog::read(std::fs::File::open(dump).unwrap()).unwrap();
    write("diagnosis.html", html::print("Out of memory", &diagnose(log)));
}

fn exhibit(name: &str, lines: &str) -> Exhibit {
    let trace = text::parse(&format!("trace 1\n{lines}")).unwrap();
    Exhibit { name: name.to_string(), ..Exhibit::of_trace(&trace).unwrap() }
}

/// Ten ops and six buffers, large enough to be pointed at.
fn small() -> Exhibit {
    let labels = [
        ("dense/kernel", "parameter", "dense", ""),
        ("conv/conv2d", "activation", "conv", "conv2d"),
        ("dense/matmul", "activation", "dense", "matmul"),
        ("scratch of conv2d", "workspace", "conv", "conv2d"),
        ("conv/conv2d", "activation", "conv", "conv2d"),
        ("dense/gradient", "gradient", "dense", "matmul"),
    ];
    let blocks = [(0, 0, 4, 10), (1, 4, 3, 3), (2, 7, 2, 7), (3, 9, 1, 2), (4, 4, 3, 9), (5, 9, 2, 8)];
    let starts = [0, 1, 3, 1, 6, 6];
    let mut lines = String::new();
    for (index, (value, role, layer, op)) in labels.into_iter().enumerate() {
        let again = if index == 4 { " again" } else { "" };
        let _ = writeln!(lines, "label {value:?} {role:?} {layer:?} {op:?}{again}");
    }
    let mut events: Vec<(u32, u8, String)> = Vec::new();
    for ((block, offset, mib, end), start) in blocks.into_iter().zip(starts) {
        let (offset, bytes) = (offset * MIB, mib * MIB);
        events.push((start, 0, format!("{start} take {block} at {offset} bytes {bytes} label {block}")));
        events.push((end - 1, 1, format!("{} free {block}", end - 1)));
    }
    events.sort();
    events.iter().for_each(|(_, _, line)| lines.push_str(&format!("{line}\n")));
    Exhibit { limit: Some(Bytes(13 * MIB)), headline: "six buffers".to_string(), ..exhibit("small", &lines) }
}

/// What a reader should find in it.
fn expected(exhibit: &Exhibit) -> serde_json::Value {
    let figures = Figures::of(exhibit);
    let text = |id| exhibit.texts.get(id).to_string();
    let buffers = exhibit.buffers.iter().map(|buffer| {
        let tick = (buffer.live.start + buffer.live.end - 1) / 2;
        let live = format!("live in ops {} to {}", buffer.live.start, buffer.live.end - 1);
        let why = if look(&text(buffer.role)).role == "parameter" { "across steps" } else { "does not say who reads" };
        json!({
            "tick": tick,
            "offset": buffer.offset.0 + buffer.bytes.0 / 2 + buffer.bytes.0 / 5,
            "colour": look(&text(buffer.role)).colour,
            "facts": [shown(&text(buffer.value), buffer.again), buffer.bytes.to_string(), live, why, text(buffer.layer), text(buffer.op)],
        })
    });
    let live: Vec<_> =
        figures.live.iter().enumerate().map(|(tick, bytes)| json!([tick, bytes.to_string()])).collect();
    let at_start = exhibit.buffers.iter().filter(|buffer| buffer.live.contains(&0)).count();
    let layers: Vec<String> =
        figures.at_floor_by(exhibit, |buffer| buffer.layer).into_iter().map(|sum| text(sum.text)).collect();
    json!({
        "buffers": buffers.collect::<Vec<_>>(),
        "empty": [0.5, 10 * MIB],
        "live": live,
        "live at op 0": at_start,
        "peak": figures.floor.to_string(),
        "layers by size": layers,
        "search": "con",
        "again": "Recomputed (activation checkpointing): 1 value, 3.00 MiB",
    })
}

const LABEL: &str = "label \"a\" \"activation\" \"layer\" \"op\"\n";

/// A block that stays, 3000 events in which next to nothing happens, and two steps of 30 events each.
fn long_wait() -> String {
    let mut lines = format!("{LABEL}0 take 0 at 0 bytes {} label 0\n", 8 * MIB);
    let mut time = 1;
    let mut pairs = |lines: &mut String, count: u32, bytes: u64| {
        for _ in 0..count {
            let _ = writeln!(lines, "{time} take {time} at {} bytes {bytes} label 0", 8 * MIB);
            let _ = writeln!(lines, "{} free {time}", time + 1);
            time += 2;
        }
    };
    pairs(&mut lines, 1500, 64);
    for step in 1..3 {
        let _ = writeln!(lines, "step {step}");
        pairs(&mut lines, 14, 4 * MIB);
        pairs(&mut lines, 1, MIB);
    }
    lines
}

/// 100,000 buffers in 400 lanes.
fn large() -> String {
    let roles = ["activation", "gradient", "workspace"];
    let mut lines = String::new();
    for label in 0..600 {
        let _ = writeln!(
            lines,
            "label \"layer{0}/value{label}\" \"{1}\" \"layer{0}\" \"op\"",
            label % 120,
            roles[label % 3]
        );
    }
    let mut state = 5u64;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % end
    };
    let mut free = vec![0u64; 400];
    let mut events: Vec<(u64, u8, String)> = Vec::new();
    for block in 0..100_000u64 {
        let lane = (block % 400) as usize;
        let (start, bytes) = (free[lane], 1 + below(1 << 16));
        let end = start + 1 + below(200);
        free[lane] = end + 1 + below(20);
        let label = block % 600;
        events.push((
            start,
            0,
            format!("{start} take {block} at {} bytes {bytes} label {label}", lane << 16),
        ));
        events.push((end, 1, format!("{end} free {block}")));
    }
    events.sort();
    events.iter().for_each(|(_, _, line)| lines.push_str(&format!("{line}\n")));
    lines
}
