//! A file is called after the noun it defines or the verb it exports.

const VAGUE: [&str; 13] = [
    "base", "common", "core", "helper", "helpers", "manager", "misc", "mod", "shared", "stuff", "types",
    "util", "utils",
];

/// A finding for each folder, and for a Rust file, whose name says nothing.
pub(crate) fn check(path: &str) -> Vec<String> {
    let mut names: Vec<&str> = path.split('/').collect();
    let file = names.pop().unwrap_or_default();
    names.extend(file.strip_suffix(".rs"));
    let vague = names.into_iter().filter(|name| VAGUE.contains(&name.to_lowercase().as_str()));
    vague.map(|name| format!("{path}:1: `{name}` does not say what is inside")).collect()
}

#[test]
fn names_say_what_is_inside() {
    for good in ["crates/exec/src/kernels.rs", "xtask/Cargo.toml", "a/element_types.rs", "a/common.py"] {
        assert_eq!(check(good), [""; 0], "{good}");
    }
    let cases = [
        ("a/utils.rs", "utils"),
        ("a/mod.rs", "mod"),
        ("crates/core/src/lib.rs", "core"),
        ("common/a.py", "common"),
    ];
    for (path, named) in cases {
        let findings = check(path);
        assert!(findings.len() == 1 && findings[0].contains(&format!("`{named}`")), "{findings:?}");
    }
}
