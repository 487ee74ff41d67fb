//! The licences of everything that is linked: each must be one that binary users of ours can live with.

use serde_json::Value;
use std::process::Command;

/// Licences that ask for no more than a notice.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Asks cargo for the packages and says whether each has a licence that is allowed.
pub(crate) fn are_allowed() -> bool {
    match packages() {
        Ok(packages) => {
            let refused: Vec<String> = packages.iter().filter_map(refusal).collect();
            refused.iter().for_each(|refused| eprintln!("{refused}"));
            println!("{} packages, {} with a licence that is not allowed", packages.len(), refused.len());
            refused.is_empty()
        }
        Err(error) => {
            eprintln!("error: cargo metadata: {error}");
            false
        }
    }
}

fn packages() -> Result<Vec<Value>, String> {
    let text = |command: &mut Command| -> Result<String, String> {
        let output = command.output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => String::from_utf8(output.stdout).map_err(|error| error.to_string()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let version = text(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc names no host")?;
    let metadata = ["metadata", "--format-version", "1", "--locked", "--filter-platform", host];
    let metadata: Value = serde_json::from_str(&text(Command::new("cargo").args(metadata))?)
        .map_err(|error| error.to_string())?;
    metadata["packages"].as_array().cloned().ok_or_else(|| "no packages".to_owned())
}

/// What is wrong with the licence of a package.
fn refusal(package: &Value) -> Option<String> {
    let licence = package["license"].as_str().unwrap_or("");
    (!is_allowed(licence)).then(|| {
        format!("{} {}: licence `{licence}`", package["name"].as_str().unwrap_or("?"), package["version"])
    })
}

/// Whether an expression can be met: one of its alternatives, and all that an alternative joins, is allowed. Brackets
/// are only around alternatives, so leaving them out asks for at least as much.
fn is_allowed(expression: &str) -> bool {
    let bare = expression.replace(['(', ')'], "").replace('/', " OR ");
    let joined_allowed = |all: &str| all.split(" AND ").all(|one| ALLOWED.contains(&one.trim()));
    bare.split(" OR ").any(joined_allowed)
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn expressions_are_read() {
        let good = [
            "MIT",
            "MIT OR GPL-3.0",
            "Apache-2.0/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "GPL-2.0 OR ISC",
        ];
        assert_eq!(good.map(is_allowed), [true; 5]);
        let bad = ["", "GPL-3.0", "MIT AND LGPL-2.1", "MPL-2.0"];
        assert_eq!(bad.map(is_allowed), [false; 4]);
    }
}
