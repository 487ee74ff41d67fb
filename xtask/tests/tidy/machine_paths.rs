//! No file names a place that exists on one machine only.

/// Written in two pieces, so that this file passes its own check.
const MACHINE: [&str; 4] =
    [concat!("/", "home/"), concat!("/", "root/"), concat!("/", "work/"), concat!("/", "tmp/")];

/// A finding for each line with an absolute path of one machine. A line that calls `mktemp` may say where.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.contains("mktemp"));
    lines
        .flat_map(|(line, number)| {
            let found = MACHINE.iter().filter(move |start| is_absolute(line, start));
            found.map(move |start| format!("{path}:{number}: `{start}` exists on one machine only"))
        })
        .collect()
}

/// Whether a path that starts with `start` stands in `line`, and is not the tail of another path.
fn is_absolute(line: &str, start: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "_-.~})".contains(c);
    line.match_indices(start).any(|(at, _)| !line[..at].ends_with(continues))
}

#[test]
fn absolute_paths_are_found() {
    let [home, _, work, tmp] = MACHINE;
    let good = [
        format!("directory=$(mktemp -d {tmp}plimsoll.XXXX)"),
        format!("crates{work}a.rs, https://example.org{home}page, ${{HOME}}{work}x, ~{work}y"),
        "std::env::temp_dir()".to_owned(),
    ];
    for line in good {
        assert_eq!(check("a", &line), [""; 0], "{line}");
    }
    for line in [format!("{home}me/model.keras"), format!("open(\"{tmp}x\")"), format!("file://{work}x")] {
        let findings = check("a.py", &format!("fine\n{line}"));
        assert!(findings.len() == 1 && findings[0].starts_with("a.py:2: "), "{line}: {findings:?}");
    }
}
