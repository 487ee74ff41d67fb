//! Every Rust file starts with a header that says what it is.

/// A finding where the first line is no `//!` sentence.
pub(crate) fn check(path: &str, text: &str) -> Option<String> {
    let header = text.lines().next().and_then(|line| line.strip_prefix("//!"));
    match header {
        Some(sentence) if !sentence.trim().is_empty() => None,
        _ => Some(format!("{path}:1: starts without a `//!` header that says what the file is")),
    }
}

#[test]
fn a_header_is_a_sentence_on_the_first_line() {
    assert_eq!(check("a.rs", "//! Values and their shapes.\nuse b;"), None);
    for bad in ["", "use b;", "//!\n//! Late.", "\n//! Late.", "// Plain."] {
        let finding = check("a.rs", bad).unwrap_or_else(|| panic!("{bad:?} passes"));
        assert!(finding.starts_with("a.rs:1: "), "{finding}");
    }
}
