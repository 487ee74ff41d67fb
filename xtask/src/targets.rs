//! Other systems: their branches of the code are type-checked, though nobody runs them here.

use crate::program::{succeeds, succeeds_quietly};
use std::process::Command;

const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];

/// Whether the program type-checks for every system whose libraries rustup has or gets.
pub(crate) fn check() -> bool {
    TARGETS.into_iter().all(|target| {
        if !rustup_has(target) && !rustup_gets(target) {
            println!("SKIPPED: {target} is not type-checked, its libraries are not here");
            println!("hint: rustup target add {target}");
            return true;
        }
        println!("type-checking for {target}");
        let check = ["check", "--locked", "--quiet", "--package", "plimsoll-cli", "--target", target];
        succeeds(Command::new("cargo").args(check))
    })
}

fn rustup_has(target: &str) -> bool {
    let listed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    listed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).lines().any(|line| line == target))
}

fn rustup_gets(target: &str) -> bool {
    succeeds_quietly(Command::new("rustup").args(["target", "add", target]))
}
