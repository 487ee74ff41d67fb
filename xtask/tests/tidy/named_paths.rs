//! Paths that the documents name exist.

const SUFFIXES: [&str; 4] = [".rs", ".md", ".toml", ".json"];

/// What a path of this tree never contains: placeholders, and the marks of commands, URLs and model names.
const FOREIGN: [char; 12] = ['<', '>', '*', '{', '}', '$', '@', '=', ':', '(', '|', ' '];

/// A finding for each path in backticks that does not exist.
pub(crate) fn check(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Every second piece between backticks is inside a pair of them.
            let missing =
                line.split('`').skip(1).step_by(2).filter(|quoted| is_path(quoted) && !exists(quoted));
            findings.extend(missing.map(|quoted| format!("{path}:{number}: `{quoted}` does not exist")));
        }
    }
    findings
}

fn is_path(quoted: &str) -> bool {
    let named = quoted.contains('/') || SUFFIXES.iter().any(|suffix| quoted.ends_with(suffix));
    // A plan is made by the reader, and `.json` alone is a kind of file.
    let elsewhere = quoted.ends_with(".plan.json") || SUFFIXES.contains(&quoted);
    let outside = ["../", "/", "~"].iter().any(|start| quoted.starts_with(start));
    named && !elsewhere && !outside && !quoted.contains(FOREIGN)
}

#[test]
fn named_paths_are_looked_up() {
    let exists = |path: &str| ["README.md", "crates/graph", ".ci/run"].contains(&path);
    let good = "`README.md`, `crates/graph` and `.ci/run`; `cargo run a/b`, `crates/<name>/src`, `../x.rs`, `a.plan.json`,\n\
                `https://x.org/y`, `.json`, `word`, `op/*.rs`\n```\nlook at `no/path`\n```\n";
    assert_eq!(check("a.md", good, exists), [""; 0]);

    let bad = "see `README.md`\nand `crates/grahp`, `src/lib.rs`\n```\n```\n`NOTES.md`";
    let expected = [
        "a.md:2: `crates/grahp` does not exist",
        "a.md:2: `src/lib.rs` does not exist",
        "a.md:5: `NOTES.md` does not exist",
    ];
    assert_eq!(check("a.md", bad, exists), expected);
}
