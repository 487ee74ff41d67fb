//! Tables over all ops name each of them: no `match` over `OpKind` has a `_` arm, so that the compiler names the table
//! a new op forgot. Where only a few ops matter, `if let` and `matches!` say so.

use crate::rust_source::cut;

/// A finding for each `_` arm beside arms for ops.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let code = cut(text).code;
    let starts = code.match_indices("match ").map(|(at, _)| at);
    let tables = starts.filter_map(|at| Some((at, block(&code[at..])?)));
    let bad = tables.filter(|(_, arms)| {
        let begins = |start: &str| arms.iter().any(|arm| arm.starts_with(start));
        (begins("OpKind::") || begins("| OpKind::")) && (begins("_ =>") || begins("_ if "))
    });
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    bad.map(|(at, _)| format!("{path}:{}: a `match` over ops has a `_` arm", line(at))).collect()
}

/// The lines of the next block that are inside no other; nothing if it does not end.
fn block(code: &str) -> Option<Vec<&str>> {
    let open = code.find('{')?;
    let mut depth = 0;
    let mut lines = Vec::new();
    for line in code[open..].lines() {
        if depth == 1 {
            lines.push(line.trim_start());
        }
        let ends = line.matches('}').count();
        depth += line.matches('{').count();
        depth = depth.checked_sub(ends)?;
        if depth == 0 {
            return Some(lines);
        }
    }
    None
}

#[test]
fn arms_for_everything_else_are_found_where_ops_are_told_apart() {
    let good = "match kind {\n    OpKind::Fill(_) => 1,\n    OpKind::Cast(op) => match op.to {\n        F32 => 1,\n        _ => 2,\n    },\n}\n";
    assert_eq!(check("a.rs", good), [""; 0]);
    assert_eq!(check("a.rs", "match x {\n    Some(OpKind::Fill(_)) => 1,\n    _ => 2,\n}\n"), [""; 0]);
    let bad = "fn f() {\n    match kind {\n        OpKind::Fill(_) => 1,\n        // the rest\n        _ => 2,\n    }\n}\n";
    assert_eq!(check("a.rs", bad), ["a.rs:2: a `match` over ops has a `_` arm"]);
}
