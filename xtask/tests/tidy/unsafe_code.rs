//! `unsafe` stays where it is expected: in `memory`, in the kernels, and in the files listed here.

use crate::rust_source::{cut, has_word};

/// Folders whose purpose needs `unsafe`.
const FENCES: [&str; 2] = ["crates/memory/src/", "crates/exec/src/kernels/"];

/// Single files outside the fences: the executors, which hand out views of memory, tests that call kernels, a product
/// to compare with, and an allocator that counts.
const LISTED: [&str; 6] = [
    "crates/exec/examples/gemm_speed.rs",
    "crates/exec/examples/kernel_speed.rs",
    "crates/exec/src/bound.rs",
    "crates/exec/src/eager/views.rs",
    "crates/exec/tests/no_allocation.rs",
    "crates/exec/tests/ops/check.rs",
];

/// A finding for each line with `unsafe` outside the fences.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    if FENCES.iter().any(|fence| path.starts_with(fence)) || LISTED.contains(&path) {
        return Vec::new();
    }
    let hint = "memory, kernels and the files listed in xtask/tests/tidy/unsafe_code.rs";
    unsafe_lines(text).into_iter().map(|line| format!("{path}:{line}: `unsafe` belongs in {hint}")).collect()
}

/// A finding for each listed file that needs no place in the list; `read` gives the text of a file.
pub(crate) fn check_list(read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let idle = LISTED.iter().filter(|path| read(path).is_none_or(|text| unsafe_lines(&text).is_empty()));
    idle.map(|path| format!("{path}:1: is listed, but has no `unsafe`")).collect()
}

fn unsafe_lines(text: &str) -> Vec<usize> {
    let code = cut(text).code;
    code.lines().zip(1..).filter(|(line, _)| has_word(line, "unsafe")).map(|(_, number)| number).collect()
}

#[test]
fn unsafe_is_fenced() {
    let text = "#![allow(unsafe_code)]\n// unsafe is a word\nlet a = \"unsafe\";\nunsafe { f() }";
    let findings = check("crates/plan/src/order.rs", text);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].starts_with("crates/plan/src/order.rs:4: "), "{findings:?}");
    assert_eq!(check("crates/memory/src/arena.rs", text), [""; 0]);
    assert_eq!(check("crates/exec/src/kernels/call.rs", text), [""; 0]);
    assert_eq!(check(LISTED[0], text), [""; 0]);
}

#[test]
fn the_list_has_no_idle_entry() {
    assert_eq!(check_list(|_| Some("unsafe {}".to_owned())), [""; 0]);
    assert_eq!(check_list(|_| Some("safe()".to_owned())).len(), LISTED.len());
    assert_eq!(check_list(|_| None).len(), LISTED.len());
}
