//! What the tests could not test on this machine. A test that is skipped passes, so somebody has to say it.

use crate::program::{root, succeeds_quietly};
use std::process::Command;

/// One line for everything that was skipped.
pub(crate) fn list() -> Vec<String> {
    let mut skips = Vec::new();
    // Where this is CI, the test installs the browser or fails.
    if !std::env::var("CI").is_ok_and(|value| value == "true") && !has_browser() {
        skips.push(
            "SKIPPED: pages in a browser (crates/report/tests/browser/install.sh installs one)".to_owned(),
        );
    }
    if !root().join("../shared").is_dir() {
        skips.push("SKIPPED: recordings and layout problems of others (there is no ../shared)".to_owned());
    }
    skips
}

fn has_browser() -> bool {
    let mut check = Command::new("sh");
    check.arg(root().join("crates/report/tests/browser/install.sh")).arg("--check");
    succeeds_quietly(check.arg(root().join("target/tmp/browser")))
}
