//! `cargo xtask audit`: the promises of the README, measured from outside on many runs.
//!
//! Every run is a process of its own. Held are: the planned peak is the measured one and within the budget, the
//! smallest plan that a refusal names runs, and the process as a whole stays within the budget and the allowance.

mod runs;
mod table;

use crate::program::{Limits, Program, Ran, Which};
use runs::{Kind, Run};
use serde_json::Value;
use std::time::Duration;

/// What the README names beside the budget.
pub(crate) const ALLOWANCE: u64 = 64 << 20;

/// Longer than any of the runs takes on two cores.
const LIMITS: Limits = Limits { time: Duration::from_secs(600), address_space: None };

/// What a run was found to take, and what is wrong with it.
pub(crate) struct Finding {
    pub(crate) name: String,
    pub(crate) budget: Option<u64>,
    pub(crate) planned: Option<u64>,
    pub(crate) measured: Option<u64>,
    pub(crate) resident: u64,
    pub(crate) seconds: f64,
    pub(crate) violations: Vec<String>,
}

/// Runs everything, prints a table, and says whether every promise held. The short form takes a minute.
pub(crate) fn run(short: bool, which: &Which) -> bool {
    let program = match Program::get(which) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("error: {error}");
            return false;
        }
    };
    let mut findings = Vec::new();
    for run in runs::list(short) {
        for finding in runs::with_budgets(&program, &run) {
            println!("{}", table::line(&finding));
            findings.push(finding);
        }
    }
    println!("\n{}", table::summary(&findings));
    findings.iter().all(|finding| finding.violations.is_empty())
}

/// Runs once and compares what it says and takes with what was promised.
fn examine(program: &Program, run: &Run, budget: Option<u64>, folder: &std::path::Path) -> Finding {
    let mut arguments = run.arguments.clone();
    arguments.extend(budget.iter().flat_map(|bytes| ["--memory".to_owned(), format!("{bytes}B")]));
    arguments.push("--json".to_owned());
    let name = run.name.clone();
    match program.run(&arguments, folder, LIMITS) {
        Ok(ran) => compared(name, run.kind, budget, &ran),
        Err(error) => Finding::failed(name, budget, error.to_string()),
    }
}

fn compared(name: String, kind: Kind, budget: Option<u64>, ran: &Ran) -> Finding {
    let said: Value = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    let (planned, measured) = (said["planned_peak_bytes"].as_u64(), said["measured_peak_bytes"].as_u64());
    let mut violations = Vec::new();
    let mut expect = |good: bool, what: String| {
        if !good {
            violations.push(what)
        }
    };
    expect(!ran.timed_out, "took too long".to_owned());
    expect(ran.code == Some(0), format!("ended with {:?}: {}", ran.code, last_line(&ran.stderr)));
    if kind == Kind::Planned {
        expect(planned.is_some() && planned == measured, "planned and measured peak differ".to_owned());
    }
    if let Some(budget) = budget {
        expect(measured.is_none_or(|peak| peak <= budget), "the peak is beyond the budget".to_owned());
        let over = ran.resident.saturating_sub(budget + ALLOWANCE);
        expect(over == 0, format!("the process took {} more than promised", table::size(over)));
    }
    let seconds = ran.elapsed.as_secs_f64();
    Finding { name, budget, planned, measured, resident: ran.resident, seconds, violations }
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| line.starts_with("error")).or(text.lines().last()).unwrap_or("")
}

impl Finding {
    fn failed(name: String, budget: Option<u64>, why: String) -> Self {
        Self { name, budget, planned: None, measured: None, resident: 0, seconds: 0.0, violations: vec![why] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(stdout: &str, code: i32, resident: u64) -> Ran {
        let (stdout, stderr) = (stdout.to_owned(), "error: why\nhint: x".to_owned());
        Ran { code: Some(code), stdout, stderr, elapsed: Duration::ZERO, timed_out: false, resident }
    }

    #[test]
    fn each_broken_promise_is_a_violation() {
        let violations = |ran: &Ran| compared(String::new(), Kind::Planned, Some(1000), ran).violations;
        let good = r#"{"planned_peak_bytes": 900, "measured_peak_bytes": 900}"#;
        assert!(violations(&ran(good, 0, ALLOWANCE + 1000)).is_empty());
        assert_eq!(violations(&ran(good, 0, ALLOWANCE + 1001)), ["the process took 1 B more than promised"]);
        assert_eq!(violations(&ran(good, 1, 0)), ["ended with Some(1): error: why"]);
        let apart = r#"{"planned_peak_bytes": 900, "measured_peak_bytes": 901}"#;
        assert_eq!(violations(&ran(apart, 0, 0)), ["planned and measured peak differ"]);
        let beyond = r#"{"planned_peak_bytes": 1001, "measured_peak_bytes": 1001}"#;
        assert_eq!(violations(&ran(beyond, 0, 0)), ["the peak is beyond the budget"]);
        assert_eq!(violations(&ran("", 0, 0)), ["planned and measured peak differ"]);
    }
}
