//! Printing happens in one place: the macros panic when nobody reads any more, and print control characters as they
//! are.

use crate::rust_source::{cut, has_word};

const MACROS: [&str; 4] = ["print!", "println!", "eprint!", "eprintln!"];
/// The one place; `println!` does not stand there either.
const PLACE: &str = "crates/cli/src/output.rs";

/// A finding for each line of a crate that prints by itself.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("crates/") || !path.contains("/src/") {
        return Vec::new();
    }
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let views = cut(text);
    let lines =
        views.code.lines().zip(1..).filter(|(line, _)| MACROS.iter().any(|name| has_word(line, name)));
    lines
        .map(|(_, number)| {
            format!("{path}:{number}: a library prints nothing, and the command line in {PLACE}")
        })
        .collect()
}

#[test]
fn printing_is_found_in_sources_only() {
    let found = |path: &str, text: &str| check(path, text).len();
    assert_eq!(found("crates/cli/src/zoo.rs", "println!(\"a\");\neprint!(\"b\");"), 2);
    assert_eq!(
        found("crates/plan/src/a.rs", "//! println!(\"a\");\nlet a = \"println!\";\nwriteln!(f)?;"),
        0
    );
    assert_eq!(found("crates/plan/src/a.rs", "#[cfg(test)]\nmod tests { println!() }"), 0);
    assert_eq!(found("crates/cli/tests/zoo.rs", "eprintln!(\"SKIPPED\");"), 0);
}
