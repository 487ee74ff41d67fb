//! How a command fails: what is wrong, evidence, a hint, and an exit code.

use crate::table::Table;
use plimsoll::exec::StepError;
use plimsoll::exec::eager::Shortage;
use plimsoll::memory::{DeviceError, Holder, Share};
use plimsoll::model::zoo::ZooError;
use plimsoll::trace::Evidence;
use plimsoll::{JobError, OverBudget};
use std::io::IsTerminal;
use std::process::ExitCode;

/// Something that ends a command.
pub struct Failure {
    /// What is wrong, in a line.
    pub message: String,
    /// What shows it, in as many lines as it takes.
    pub evidence: String,
    /// What would help.
    pub hint: Option<String>,
    /// Who asked for how much memory and who holds what, where memory is what was missing; for programs.
    pub shortage: Option<Box<Evidence>>,
    /// 1 for a problem found, 2 for bad usage or input.
    pub code: u8,
}

impl Failure {
    /// Bad usage or input.
    pub fn usage(message: impl Into<String>, hint: Option<String>) -> Self {
        Self { message: message.into(), evidence: String::new(), hint, shortage: None, code: 2 }
    }

    /// As JSON: `evidence` is what `plimsoll diagnose` reads, `log` what stands on stderr for people, line for line.
    pub fn as_json(&self) -> serde_json::Value {
        let text = self.text();
        let log: Vec<&str> = text.lines().collect();
        serde_json::json!({"error": self.message, "hint": self.hint, "evidence": self.shortage, "log": log})
    }

    /// Prints it to stderr and gives the exit code. Where stderr is captured, a line for `plimsoll diagnose` comes first.
    pub fn report(self) -> ExitCode {
        if let Some(shortage) = self.shortage.as_ref().filter(|_| !std::io::stderr().is_terminal()) {
            eprintln!("evidence: {}", shortage.print());
        }
        eprint!("{}", self.text());
        ExitCode::from(self.code)
    }

    fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.message);
        if !self.evidence.is_empty() {
            text += &format!("\n{}\n", self.evidence);
        }
        if let Some(hint) = &self.hint {
            text += &format!("hint: {hint}\n");
        }
        text
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        let code = match &error {
            JobError::Model(_)
            | JobError::Train(_)
            | JobError::Data(_)
            | JobError::NoLength { .. }
            | JobError::PlanFile(_) => 2,
            JobError::OverBudget(_)
            | JobError::OutOfMemory(_)
            | JobError::Bind(_)
            | JobError::NotEager { .. }
            | JobError::Plan(_)
            | JobError::Recomputation(_)
            | JobError::Step { .. }
            | JobError::NotFinite { .. }
            | JobError::BrokenPromise { .. } => 1,
        };
        let evidence = match &error {
            JobError::OverBudget(over) => live_at_the_floor(over),
            JobError::Step { error: StepError::OutOfMemory(shortage), .. } => held_at_the_end(shortage),
            _ => String::new(),
        };
        let shortage = error.evidence().map(Box::new);
        Self { message: error.to_string(), evidence, hint: error.hint(), shortage, code }
    }
}

impl From<ZooError> for Failure {
    fn from(error: ZooError) -> Self {
        Self::usage(error.to_string(), Some("`plimsoll zoo` lists the models and their options".to_string()))
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let list = |head, rows: Vec<(&String, &plimsoll::Bytes)>| {
            let mut table = Table::new([head, "size"]).right(1);
            rows.iter().for_each(|(name, bytes)| table.row([name.to_string(), bytes.to_string()]));
            if rows.is_empty() { String::new() } else { table.print() + "\n" }
        };
        let evidence = match &error {
            DeviceError::TooMuch { shares, .. } => {
                list("assigned to", shares.iter().map(|Share { name, limit }| (name, limit)).collect())
            }
            DeviceError::Held { holders, .. } => {
                list("held by", holders.iter().map(|Holder { who, bytes }| (who, bytes)).collect())
            }
            DeviceError::Unknown { .. }
            | DeviceError::Duplicate { .. }
            | DeviceError::Empty { .. }
            | DeviceError::OutOfMemory(_) => String::new(),
        };
        let hint = error.hint();
        Self { evidence, ..Self::usage(error.to_string(), hint) }
    }
}

fn live_at_the_floor(over: &OverBudget) -> String {
    let usage = &over.usage;
    let mut table = Table::new(["live at the floor", "role", "size"]).right(2);
    let largest = over.largest(6);
    for holding in largest {
        table.row([holding.value.clone(), holding.role.to_string(), holding.bytes.to_string()]);
    }
    let rest = &usage.live[largest.len()..];
    if !rest.is_empty() {
        let bytes: plimsoll::Bytes = rest.iter().map(|holding| holding.bytes).sum();
        table.row([format!("and {} more", rest.len()), String::new(), bytes.to_string()]);
    }
    format!("{}\n(during {} of {})\n", table.print(), usage.worst_op, usage.worst_layer)
}

/// Who holds the memory that an eager step did not get, and how it stands with the pool.
fn held_at_the_end(shortage: &Shortage) -> String {
    let mut table = Table::new(["held", "role", "size"]).right(2);
    let (largest, others, rest) = shortage.largest(6);
    for (label, bytes) in largest {
        table.row([label.value.clone(), label.role.clone(), bytes.to_string()]);
    }
    if others > 0 {
        table.row([format!("and {others} more"), String::new(), rest.to_string()]);
    }
    let Shortage { allocator, in_use, reserved, largest_free, limit, .. } = shortage;
    let share = 100.0 * shortage.fragmentation;
    format!(
        "{}\n({allocator}: {in_use} in use, {reserved} reserved of {limit}, largest free block {largest_free}, \
         fragmentation {share:.0} %)\n",
        table.print()
    )
}
