//! Tidy: what neither the compiler nor clippy can see, held as plain tests.
//!
//! Each check is a pure function over text, with good and bad samples beside it. Here each is applied to the tree; a
//! finding names its file and line.

mod crate_order;
mod file_names;
mod flags;
mod function_length;
mod header_docs;
mod machine_paths;
mod markers;
mod named_paths;
mod op_tables;
mod printing;
mod prose_width;
mod rust_source;
mod tree;
mod unsafe_code;
mod unused_dependencies;

use tree::{File, files, root};

#[test]
fn crates_stand_in_flow_order_with_charters() {
    expect_none(crate_order::check_members(&read("Cargo.toml")));
}

#[test]
fn crates_use_only_what_the_design_allows() {
    let members = crate_order::members(&read("Cargo.toml"));
    let manifests = members.iter().map(|member| format!("{}/Cargo.toml", member.path));
    expect_none(manifests.flat_map(|path| crate_order::check_dependencies(&path, &read(&path))));
}

#[test]
fn dependencies_are_used() {
    let members = crate_order::members(&read("Cargo.toml"));
    let manifests: Vec<String> =
        members.iter().map(|member| read(&format!("{}/Cargo.toml", member.path))).collect();
    expect_none(unused_dependencies::check_root(&read("Cargo.toml"), &manifests));
    expect_none(members.iter().zip(&manifests).flat_map(|(member, manifest)| {
        let folder = format!("{}/", member.path);
        let sources: Vec<String> = rust_files()
            .filter(|file| file.path.starts_with(&folder))
            .map(|file| file.text.clone())
            .collect();
        unused_dependencies::check(&format!("{folder}Cargo.toml"), manifest, &sources.join("\n"))
    }));
}

#[test]
fn rust_files_start_with_a_header() {
    expect_none(rust_files().flat_map(|file| header_docs::check(&file.path, &file.text)));
}

#[test]
fn no_name_is_vague() {
    expect_none(files().iter().flat_map(|file| file_names::check(&file.path)));
}

#[test]
fn paths_in_documents_exist() {
    let files = files();
    let told = |path: &str| path.starts_with("docs/") && path.ends_with(".md");
    let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].into_iter();
    let documents = documents.chain(files.iter().map(|file| file.path.as_str()).filter(|path| told(path)));
    // A code map names files as a reader finds them: from the root, or by the end of their path.
    let ends = |file: &File, path: &str| {
        format!("/{}/", file.path).contains(&format!("/{}/", path.trim_end_matches('/')))
    };
    let exists = |path: &str| root().join(path).exists() || files.iter().any(|file| ends(file, path));
    expect_none(documents.flat_map(|path| named_paths::check(path, &read(path), exists)));
}

#[test]
fn prose_wraps() {
    let files = files();
    let written = files.iter().filter(|file| file.path.ends_with(".rs") || file.path.ends_with(".md"));
    expect_none(written.flat_map(|file| prose_width::check(&file.path, &file.text)));
}

#[test]
fn nothing_is_left_undone() {
    expect_none(rust_files().flat_map(|file| markers::check(&file.path, &file.text)));
}

#[test]
fn tables_name_every_op() {
    let sources = rust_files().filter(|file| file.path.contains("/src/"));
    expect_none(sources.flat_map(|file| op_tables::check(&file.path, &file.text)));
}

#[test]
fn unsafe_code_stays_inside_its_fences() {
    expect_none(rust_files().flat_map(|file| unsafe_code::check(&file.path, &file.text)));
    expect_none(unsafe_code::check_list(|path| std::fs::read_to_string(root().join(path)).ok()));
}

#[test]
fn no_path_belongs_to_one_machine() {
    expect_none(files().iter().flat_map(|file| machine_paths::check(&file.path, &file.text)));
}

#[test]
fn libraries_name_no_flags() {
    expect_none(rust_files().flat_map(|file| flags::check(&file.path, &file.text)));
}

#[test]
fn printing_happens_in_one_place() {
    expect_none(rust_files().flat_map(|file| printing::check(&file.path, &file.text)));
}

#[test]
fn functions_are_short() {
    let functions: Vec<_> =
        rust_files().flat_map(|file| function_length::functions(&file.path, &file.text)).collect();
    expect_none(function_length::check(&functions));
}

fn rust_files() -> impl Iterator<Item = File> {
    files().into_iter().filter(|file| file.path.ends_with(".rs"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[track_caller]
fn expect_none(findings: impl IntoIterator<Item = String>) {
    let findings: Vec<String> = findings.into_iter().collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
