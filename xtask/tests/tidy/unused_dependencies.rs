//! Every dependency that a manifest names is used by the crate.

/// What is wrong with the manifest at `path`, where `sources` is all Rust text of its crate.
pub(crate) fn check(path: &str, manifest: &str, sources: &str) -> Vec<String> {
    let unused = dependencies(manifest).filter(|(name, _)| !is_named(sources, &name.replace('-', "_")));
    unused.map(|(name, line)| format!("{path}:{line}: `{name}` is not used")).collect()
}

/// What is wrong with the root manifest, where `members` are the manifests of the crates.
pub(crate) fn check_root(manifest: &str, members: &[String]) -> Vec<String> {
    let named = |name: &str| members.iter().any(|member| dependencies(member).any(|(used, _)| used == name));
    let table = entries(manifest, |header| header == "[workspace.dependencies]");
    let unused = table.filter(|(name, _)| !named(name));
    unused.map(|(name, line)| format!("Cargo.toml:{line}: no crate uses `{name}`")).collect()
}

fn dependencies(manifest: &str) -> impl Iterator<Item = (&str, usize)> {
    entries(manifest, |header| header.trim_end_matches(']').ends_with("dependencies"))
}

/// The names and lines of the entries of those tables whose header is wanted.
fn entries(manifest: &str, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, usize)> {
    let mut inside = false;
    manifest.lines().zip(1..).filter_map(move |(text, line)| {
        if text.starts_with('[') {
            inside = wanted(text.trim());
            return None;
        }
        let name = text.split(['=', '.']).next()?.trim();
        (inside && !name.is_empty() && !name.starts_with('#')).then_some((name, line))
    })
}

/// Whether a path begins with the name: `name::`, `use name`, `extern crate name`, or a macro of it.
fn is_named(sources: &str, name: &str) -> bool {
    sources.match_indices(name).any(|(at, _)| {
        let before = sources[..at].chars().next_back();
        let after = &sources[at + name.len()..];
        let starts = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        starts && (after.starts_with("::") || after.starts_with(';') || after.starts_with(" as "))
    })
}

#[test]
fn what_nobody_uses_is_found() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nserde.workspace = true\nhdf5-reader = \"1\"\n\
                    [dev-dependencies]\n# why\ntempfile = \"3\"\n";
    assert_eq!(
        check("a", manifest, "use serde::Serialize; hdf5_reader::open(); use tempfile as t;"),
        [""; 0]
    );
    let sources = "use serde_json::Value; my_serde::x(); // tempfile";
    let found = check("a", manifest, sources);
    assert_eq!(
        found,
        ["a:4: `serde` is not used", "a:5: `hdf5-reader` is not used", "a:8: `tempfile` is not used"]
    );
    let root = "[workspace.dependencies]\nserde = \"1\"\nanyhow = \"1\"\n";
    assert_eq!(check_root(root, &[manifest.to_owned()]), ["Cargo.toml:3: no crate uses `anyhow`"]);
}
