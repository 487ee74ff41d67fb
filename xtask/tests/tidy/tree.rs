//! The text files of the repository.

use std::fs;
use std::path::Path;

/// Hidden names that belong to the repository; the others belong to git and to people's tools.
const HIDDEN: [&str; 4] = [".cargo", ".ci", ".github", ".gitignore"];

/// A text file.
pub(crate) struct File {
    /// From the root of the repository, with `/` between the names.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the repository")
}

/// Every text file, in the order of the paths; build output is left out.
pub(crate) fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect(root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let entry = entry.expect("the folder can be listed");
        let kind = entry.file_type().expect("the entry has a kind");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if !belongs(&name) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if let Some(text) = fs::read(entry.path()).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        {
            files.push(File { path, text });
        }
    }
}

fn belongs(name: &str) -> bool {
    name != "target" && (!name.starts_with('.') || HIDDEN.contains(&name))
}

#[test]
fn files_are_found_and_build_output_is_not() {
    let paths: Vec<String> = files().into_iter().map(|file| file.path).collect();
    for expected in ["Cargo.toml", ".ci/run", "crates/graph/src/lib.rs", "xtask/tests/tidy/tree.rs"] {
        assert!(paths.iter().any(|path| path == expected), "{expected}");
    }
    assert!(!paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
}
