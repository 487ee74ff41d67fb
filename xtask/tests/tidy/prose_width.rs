//! Prose wraps at 120 columns: comments, and documents outside of tables, examples and lines that cannot be cut.

const WIDTH: usize = 120;

/// A finding for each line of prose that is longer.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let is_document = path.ends_with(".md");
    let mut example = false;
    let mut findings = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let prose = match is_document {
            true => line.trim(),
            false => comment(line),
        };
        if prose.starts_with("```") {
            example = !example;
        }
        let is_prose = !example && !prose.starts_with('|') && prose.contains(' ');
        if is_prose && line.chars().count() > WIDTH {
            findings.push(format!("{path}:{number}: prose wraps at {WIDTH} columns"));
        }
    }
    findings
}

/// What a line of comment says; nothing for code.
fn comment(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix("//").map_or("", |rest| rest.trim_start_matches(['/', '!']).trim())
}

#[test]
fn long_lines_of_prose_are_found() {
    let long = "word ".repeat(30);
    assert_eq!(check("a.rs", &format!("//! {long}")), ["a.rs:1: prose wraps at 120 columns"]);
    assert_eq!(check("a.md", &format!("Title\n\n{long}")), ["a.md:3: prose wraps at 120 columns"]);
    for fine in
        [format!("let a = \"{long}\";"), format!("//! | {long} |"), format!("//! ```\n//! {long}\n//! ```")]
    {
        assert_eq!(check("a.rs", &fine), [""; 0], "{fine}");
    }
    assert_eq!(check("a.md", &format!("| {long} |\n```text\n{long}\n```")), [""; 0]);
}
