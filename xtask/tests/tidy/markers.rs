//! Nothing is left undone: no markers in comments, no macros that stand for missing code.

use crate::rust_source::{cut, has_word};

const MARKERS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];
const MACROS: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];

/// A finding for each line with a marker or such a macro.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let views = cut(text);
    let lines = views.comments.lines().zip(views.code.lines()).zip(1..);
    lines
        .flat_map(|((comment, code), number)| {
            let markers = MARKERS.iter().filter(move |marker| has_word(comment, marker));
            let macros = MACROS.iter().filter(move |name| has_word(code, name));
            markers
                .chain(macros)
                .map(move |found| format!("{path}:{number}: `{found}` leaves something undone"))
        })
        .collect()
}

#[test]
fn markers_and_macros_are_found() {
    let good = "// A to-do list is data.\nlet word = \"TODO\"; // todos are words\nwrite!(f, \"dbg!(x)\")?;";
    assert_eq!(check("a.rs", good), [""; 0]);

    let bad = "// TODO: later\nlet a = 1;\n/* FIXME */ dbg!(a);\n    todo!()\nunimplemented!{}";
    let expected = [
        "a.rs:1: `TODO` leaves something undone",
        "a.rs:3: `FIXME` leaves something undone",
        "a.rs:3: `dbg!` leaves something undone",
        "a.rs:4: `todo!` leaves something undone",
        "a.rs:5: `unimplemented!` leaves something undone",
    ];
    assert_eq!(check("a.rs", bad), expected);
}
