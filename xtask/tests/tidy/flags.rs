//! A library crate names no flag of the command line: what would help is a value, and a door words it.

use crate::rust_source::cut;

/// A finding for each flag in a literal of a library crate.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let is_library =
        path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/cli/");
    if !is_library {
        return Vec::new();
    }
    // What tests write is theirs.
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let views = cut(text);
    let lines = text.lines().zip(views.code.lines().zip(views.comments.lines())).zip(1..);
    let flagged = lines.filter(|((line, (code, comments)), _)| has_flag(line, code, comments));
    flagged
        .map(|(_, number)| format!("{path}:{number}: a flag belongs to the command line; give a `Hint`"))
        .collect()
}

/// Whether ` --word` stands where there is neither code nor a comment.
fn has_flag(line: &str, code: &str, comments: &str) -> bool {
    let blank = |view: &str, at: usize| view.get(at..at + 2).is_none_or(|piece| piece.trim().is_empty());
    line.match_indices("--").any(|(at, _)| {
        let before = line[..at].chars().next_back().is_none_or(|c| " \"`(,".contains(c));
        let after = line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
        // Views have the columns of the text in characters, so a line with wide characters is looked at as a whole.
        before && after && (!line.is_ascii() || blank(code, at) && blank(comments, at))
    })
}

#[test]
fn flags_are_found_in_literals_of_libraries_only() {
    let line = |text: &str| check("crates/plan/src/a.rs", text).len();
    assert_eq!(line("let hint = \"try --batch 2\";"), 1);
    assert_eq!(line("let hint = \"--batch\";"), 1);
    assert_eq!(line("// `--batch` of the command line"), 0);
    assert_eq!(line("let text = \"a -- b\"; let x = a - -b;"), 0);
    assert_eq!(line("#[cfg(test)]\nmod tests { const FLAG: &str = \"--exact\"; }"), 0);
    assert!(check("crates/cli/src/a.rs", "\"--batch\"").is_empty());
    assert!(check("crates/plan/tests/a.rs", "\"--batch\"").is_empty());
}
