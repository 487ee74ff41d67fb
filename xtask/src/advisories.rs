//! Known holes in dependencies, as the RustSec database has them.

use std::process::{Command, Stdio};

/// Whether no dependency has a known hole. The database is on the network and its reader is a program of its own, so
/// a machine without them goes on, loudly.
pub(crate) fn are_none() -> bool {
    let mut version = Command::new("cargo");
    version.args(["audit", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: known holes in dependencies were not looked up, cargo-audit is not installed");
        println!("hint: cargo install --locked cargo-audit");
        return true;
    }
    Command::new("cargo").arg("audit").status().is_ok_and(|status| status.success())
}
