//! Known holes in dependencies, as the RustSec database has them.

use crate::program::{succeeds, succeeds_quietly};
use std::process::Command;

/// Whether no dependency has a known hole. The database is on the network and its reader is a program of its own, so
/// a machine without them goes on, loudly.
pub(crate) fn are_none() -> bool {
    if !succeeds_quietly(Command::new("cargo").args(["audit", "--version"])) {
        println!("SKIPPED: known holes in dependencies were not looked up, cargo-audit is not installed");
        println!("hint: cargo install --locked cargo-audit");
        return true;
    }
    succeeds(Command::new("cargo").arg("audit"))
}
