//! Every op: its kernel against the reference, its gradient against finite differences.

#[allow(missing_docs)]
mod check;
mod elementwise;
mod images;
mod movement;
mod reductions;
mod sequences;
mod updates;

/// Every op of the table in `graph/src/op.rs` is named by a case in one of these files.
#[test]
fn every_op_has_a_case() {
    let table = include_str!("../../../graph/src/op.rs");
    let cases = [
        include_str!("elementwise.rs"),
        include_str!("images.rs"),
        include_str!("movement.rs"),
        include_str!("reductions.rs"),
        include_str!("sequences.rs"),
        include_str!("updates.rs"),
    ];
    let rows = table.split("op_kinds! {").nth(1).expect("the table is there").split('}').next().unwrap();
    let ops: Vec<(&str, &str)> = rows.lines().filter_map(|row| row.trim().split_once(" = ")).collect();
    assert!(ops.len() >= 50, "{ops:?}");
    for (op, name) in ops {
        let test = format!("fn {}(", name.trim_matches(['"', ',']));
        let used = [format!("{op} "), format!("{op}("), format!("{op}::"), test];
        let named = cases.iter().any(|case| used.iter().any(|used| case.contains(used)));
        assert!(named, "{op} has no case");
    }
}
