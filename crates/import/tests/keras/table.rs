//! The table in `docs/keras-coverage.md`: names of Keras's public lists with a small model for each, and what is said
//! about them.

use serde::Deserialize;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// A small model for a name of Keras's public lists.
#[derive(Deserialize)]
struct Entry {
    kind: String,
    name: String,
    config: Option<serde_json::Value>,
}

/// The packed file that `bench/peers/keras/coverage.py` writes.
pub fn packed() -> File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/keras/coverage.json.gz");
    File::open(path).unwrap()
}

/// The rows of one list: equal, or why a model is not taken.
pub fn entries(
    unpacked: impl Read,
    kind: &str,
    taken: impl Fn(Vec<u8>) -> Result<(), String>,
) -> Vec<String> {
    let entries: Vec<Entry> = serde_json::from_reader(BufReader::new(unpacked)).unwrap();
    let row = |entry: &Entry| {
        let (status, note) = match &entry.config {
            None => ("not in functional models", String::new()),
            Some(config) => match taken(config.to_string().into_bytes()) {
                Ok(()) => ("equal", String::new()),
                Err(why) => ("refused", why),
            },
        };
        format!("| `{}` | {status} | {} |", entry.name, note.replace('|', "\\|").replace('\n', " "))
    };
    entries.iter().filter(|entry| entry.kind == kind).map(row).collect()
}

/// Compares a part of `docs/keras-coverage.md` with rows, or writes them there if `PLIMSOLL_BLESS` is set.
pub fn check_part(title: &str, rows: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/keras-coverage.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&format!("## {title}\n")).expect("the document has this part");
    let end = rest.find("\n## ").map_or(rest.len(), |end| end + 1);
    let (part, after) = rest.split_at(end);
    let equal = rows.iter().filter(|row| row.contains("| equal |")).count();
    let possible = rows.iter().filter(|row| !row.contains("| not in functional models |")).count();
    let head = format!("{equal} of {possible} are equal.\n\n| name | | |\n|---|---|---|");
    let wanted = format!("{head}\n{}\n{}", rows.join("\n"), if after.is_empty() { "" } else { "\n" });
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(&path, format!("{before}## {title}\n{wanted}{after}")).unwrap();
        return;
    }
    let differ = part.lines().zip(wanted.lines()).find(|(one, two)| one != two);
    assert!(part == wanted, "{differ:?}\nPLIMSOLL_BLESS=1 writes the table anew");
}
