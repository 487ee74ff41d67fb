//! The exit codes of the built program.

use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("the program starts")
}

#[test]
fn help_goes_to_stdout() {
    let output = xtask(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("cargo xtask check [--only PART]"));
    assert!(output.stderr.is_empty());
}

#[test]
fn bad_usage_is_2_and_goes_to_stderr() {
    let output = xtask(&["check", "--fast"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("error: unknown argument `--fast`\nhint: "), "{stderr}");
    assert!(output.stdout.is_empty());
}
