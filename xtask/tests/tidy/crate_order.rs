//! Crates stand in the order of the flow, each with a charter, and use only what the design lets them use.

use crate::rust_source::is_name;

/// Every crate in the order of the flow, and the crates that it may use.
const FLOW: [(&str, &[&str]); 16] = [
    ("graph", &[]),
    ("trace", &[]),
    ("state", &["graph", "trace"]),
    ("model", &["graph"]),
    ("import", &["graph", "trace", "state", "model"]),
    ("train", &["graph"]),
    ("plan", &["graph", "trace", "train"]),
    ("memory", &["trace"]),
    ("tensorflow", &["graph", "trace", "model", "train", "memory"]),
    ("input", &["graph", "trace", "memory"]),
    ("exec", &["graph", "trace", "plan", "memory"]),
    ("report", &["graph", "trace", "import", "plan", "memory"]),
    (
        "plimsoll",
        &[
            "graph",
            "trace",
            "state",
            "model",
            "import",
            "train",
            "plan",
            "memory",
            "tensorflow",
            "input",
            "exec",
            "report",
        ],
    ),
    ("cli", &["plimsoll"]),
    ("python", &["plimsoll"]),
    ("xtask", &[]),
];

/// A member of the workspace, as the root manifest lists it.
#[derive(Debug, PartialEq)]
pub(crate) struct Member {
    /// The folder of the crate.
    pub(crate) path: String,
    line: usize,
    /// The comment beside it.
    charter: String,
}

/// The members in the root manifest, in its order.
pub(crate) fn members(manifest: &str) -> Vec<Member> {
    let lines = manifest.lines().zip(1..).skip_while(|(line, _)| !line.starts_with("members"));
    let lines = lines.skip(1).take_while(|(line, _)| !line.trim_start().starts_with(']'));
    lines
        .filter_map(|(text, line)| {
            let (path, rest) = text.trim_start().strip_prefix('"')?.split_once('"')?;
            let charter = rest.split_once('#').map_or("", |(_, comment)| comment.trim());
            Some(Member { path: path.to_owned(), line, charter: charter.to_owned() })
        })
        .collect()
}

/// A finding for each member without a charter, unknown to the flow, or out of its order.
pub(crate) fn check_members(manifest: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut highest = 0;
    for Member { path, line, charter } in members(manifest) {
        let mut report = |what: &str| findings.push(format!("Cargo.toml:{line}: `{path}` {what}"));
        if charter.is_empty() {
            report("has no charter beside it");
        }
        match FLOW.iter().position(|(name, _)| *name == folder(&path)) {
            None => report("is not in the flow (xtask/tests/tidy/crate_order.rs)"),
            Some(place) if place < highest => report("stands below a crate that comes after it in the flow"),
            Some(place) => highest = place,
        }
    }
    findings
}

/// A finding for each crate of the workspace that the manifest at `path` uses and may not. Tests may use any.
pub(crate) fn check_dependencies(path: &str, manifest: &str) -> Vec<String> {
    let name = folder(path.trim_end_matches("/Cargo.toml"));
    let allowed = FLOW.iter().find(|(crate_name, _)| *crate_name == name).map_or(&[][..], |(_, uses)| uses);
    let mut findings = Vec::new();
    let mut counts = false;
    for (line, number) in manifest.lines().zip(1..) {
        if line.starts_with('[') {
            counts = line
                .split(['[', ']', '.'])
                .any(|word| ["dependencies", "build-dependencies"].contains(&word));
        }
        let used = used_crates(line).filter(|used| counts && !allowed.contains(used));
        findings.extend(used.map(|used| format!("{path}:{number}: `{name}` may not use `{used}`")));
    }
    findings
}

/// The crates of the workspace that a line of a manifest names, by package or by path.
fn used_crates(line: &str) -> impl Iterator<Item = &'static str> {
    let line = line.split('#').next().unwrap_or_default();
    let words: Vec<&str> = line.split(|c| !is_name(c) && c != '-' && c != '/').collect();
    let names = FLOW.iter().map(|(name, _)| *name);
    names.filter(move |name| {
        let package = if *name == "plimsoll" { "plimsoll".to_owned() } else { format!("plimsoll-{name}") };
        words.iter().any(|word| *word == package || word.contains('/') && folder(word) == *name)
    })
}

fn folder(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[test]
fn the_flow_uses_only_what_stands_above() {
    for (place, (name, uses)) in FLOW.iter().enumerate() {
        for used in *uses {
            assert!(FLOW[..place].iter().any(|(above, _)| above == used), "{name} uses {used}");
        }
    }
}

#[test]
fn members_are_read_with_their_charters() {
    let manifest = "[workspace]\nmembers = [\n    \"crates/graph\", # what is computed\n    # \"crates/trace\", # later\n    \"xtask\",\n]\nx = [\n\"y\"]\n";
    let member =
        |path: &str, line, charter: &str| Member { path: path.to_owned(), line, charter: charter.to_owned() };
    assert_eq!(members(manifest), [member("crates/graph", 3, "what is computed"), member("xtask", 5, "")]);
}

#[test]
fn members_stand_in_order() {
    let manifest = |members: &str| format!("[workspace]\nmembers = [\n{members}]\n");
    let good = manifest("\"crates/graph\", # a\n\"crates/plan\", # b\n\"xtask\", # c\n");
    assert_eq!(check_members(&good), [""; 0]);

    let bad = manifest("\"crates/plan\", # a\n\"crates/graph\", # b\n\"crates/odd\", # c\n\"xtask\",\n");
    let expected = [
        "Cargo.toml:4: `crates/graph` stands below a crate that comes after it in the flow",
        "Cargo.toml:5: `crates/odd` is not in the flow (xtask/tests/tidy/crate_order.rs)",
        "Cargo.toml:6: `xtask` has no charter beside it",
    ];
    assert_eq!(check_members(&bad), expected);
}

#[test]
fn dependencies_follow_the_design() {
    let good = "[package]\nname = \"plimsoll-train\"\n[dependencies]\nplimsoll-graph.workspace = true # not plimsoll-plan\nrayon = \"1\"\n\
                [dev-dependencies]\nplimsoll-exec.workspace = true\n";
    assert_eq!(check_dependencies("crates/train/Cargo.toml", good), [""; 0]);

    let bad = "[dependencies]\nplimsoll-exec.workspace = true\nx = { package = \"plimsoll-plan\" }\ny = { path = \"../../crates/model\" }\n\
               [dependencies.plimsoll]\nworkspace = true\n[target.'cfg(unix)'.dependencies]\nplimsoll-trace.workspace = true\n\
               [build-dependencies]\nplimsoll-memory.workspace = true\n";
    let expected = [(2, "exec"), (3, "plan"), (4, "model"), (5, "plimsoll"), (8, "trace"), (10, "memory")]
        .map(|(line, used)| format!("crates/train/Cargo.toml:{line}: `train` may not use `{used}`"));
    assert_eq!(check_dependencies("crates/train/Cargo.toml", bad), expected);
}
