//! How a command fails: what is wrong, evidence, a hint, and an exit code.

use crate::output;
use crate::table::Table;
use crate::wording;
use plimsoll::memory::{DeviceError, Reservation, Share};
use plimsoll::model::zoo::ZooError;
use plimsoll::reports::FailureReport;
use plimsoll::specification::SpecificationError;
use plimsoll::state::input_file;
use plimsoll::trace::evidence::{Evidence, Holder, RefusedBy};
use plimsoll::trace::visible;
use plimsoll::{Bytes, JobError, RequestError};
use std::io::IsTerminal;
use std::process::ExitCode;

/// How many holders are shown.
const SHOWN: usize = 6;

/// Something that ends a command.
pub struct Failure {
    /// What is wrong and what would help.
    pub report: Box<FailureReport>,
    /// What shows it, in as many lines as it takes.
    pub evidence: String,
    /// 1 for a problem found, 2 for bad usage or input.
    pub code: u8,
}

impl Failure {
    /// Bad usage or input.
    pub fn usage(message: impl Into<String>, hint: Option<String>) -> Self {
        let error = message.into();
        let report = FailureReport { error, is_problem: false, hint, remedy: None, evidence: None };
        Self { report: Box::new(report), evidence: String::new(), code: 2 }
    }

    /// Input that cannot be opened.
    pub fn closed(message: String, error: &std::io::Error) -> Self {
        Self::usage(message, input_file::hint(error).map(str::to_string))
    }

    /// Arguments that the parser refuses: what is wrong up to an empty line, perhaps with a hint, and the usage below.
    pub fn of_usage(text: &str) -> Self {
        let hint_of = |line: &str| {
            ["hint: ", "tip: "].iter().find_map(|word| Some(line.trim().strip_prefix(word)?.to_string()))
        };
        let lines = text.lines().take_while(|line| !line.is_empty()).filter(|line| hint_of(line).is_none());
        let error = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        let usage = text.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default().to_string();
        Self {
            evidence: usage,
            ..Self::usage(error.trim_start_matches("error: "), text.lines().find_map(hint_of))
        }
    }

    /// Prints it to stderr, as JSON to stdout where that is wanted, and gives the exit code. Where stderr is captured,
    /// a line for `plimsoll diagnose` comes first.
    pub fn report(self, json: bool) -> ExitCode {
        if json {
            // Whoever wants JSON and cannot have it still gets the exit code.
            let _ = output::json(&self.as_json());
        }
        let evidence = self.report.evidence.as_ref().filter(|_| !std::io::stderr().is_terminal());
        if let Some(evidence) = evidence {
            output::tell(format!("evidence: {}", output::visible_json(&evidence.print())));
        }
        output::tell(self.text().trim_end_matches('\n'));
        ExitCode::from(self.code)
    }

    /// The library's report; `log` is what stands on stderr for people, line for line.
    fn as_json(&self) -> serde_json::Value {
        let mut report = serde_json::to_value(&*self.report).expect("a report is plain data");
        report["log"] = self.text().lines().collect();
        report
    }

    fn text(&self) -> String {
        let mut text = format!("error: {}\n", visible::line(&self.report.error));
        if !self.evidence.is_empty() {
            text += &format!("\n{}\n", self.evidence);
        }
        if let Some(hint) = &self.report.hint {
            text += &format!("hint: {}\n", visible::line(hint));
        }
        text
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let mut report = FailureReport::of(&error);
        report.hint = report.remedy.as_ref().map(wording::hint);
        let evidence = match (&report.evidence, &error) {
            (Some(evidence), _) => shown(evidence),
            (None, RequestError::Device(error)) => claims(error),
            (None, _) => String::new(),
        };
        let code = if report.is_problem { 1 } else { 2 };
        Self { report: Box::new(report), evidence, code }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        RequestError::from(error).into()
    }
}

impl From<SpecificationError> for Failure {
    fn from(error: SpecificationError) -> Self {
        RequestError::from(error).into()
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        RequestError::from(error).into()
    }
}

impl From<ZooError> for Failure {
    fn from(error: ZooError) -> Self {
        SpecificationError::from(error).into()
    }
}

/// Who is in the way, for people.
fn shown(evidence: &Evidence) -> String {
    let head = match evidence.refused_by {
        RefusedBy::Budget { .. } => "live at the floor",
        RefusedBy::Allocator { .. } => "held",
        RefusedBy::Device { .. } => "held by",
    };
    let mut table = Table::new([head, "role", "size"]).right(2);
    let (largest, rest) = evidence.holders.split_at(SHOWN.min(evidence.holders.len()));
    for Holder { label, bytes } in largest {
        table.row([label.shown(), label.role.clone(), bytes.to_string()]);
    }
    if !rest.is_empty() {
        let bytes: Bytes = rest.iter().map(|holder| holder.bytes).sum();
        table.row([format!("and {} more", rest.len()), String::new(), bytes.to_string()]);
    }
    let state = state(evidence).map(|state| visible::line(&state).into_owned());
    match (evidence.holders.is_empty(), state) {
        (true, None) => String::new(),
        (true, Some(state)) => state + "\n",
        (false, None) => table.print() + "\n",
        (false, Some(state)) => format!("{}\n{state}\n", table.print()),
    }
}

/// How it stands with memory, in a line.
fn state(evidence: &Evidence) -> Option<String> {
    match &evidence.refused_by {
        RefusedBy::Device { .. } => None,
        RefusedBy::Budget { .. } => {
            let of = if evidence.asked_by.layer.is_empty() { "" } else { " of " };
            Some(format!("(during {}{of}{})", evidence.asked_by.op, evidence.asked_by.layer))
        }
        RefusedBy::Allocator { name, reserved, in_use, largest_free } => {
            let (limit, free) = (evidence.limit, evidence.limit.saturating_sub(*in_use));
            let apart = free.saturating_sub(*largest_free).0 as f64 / free.0.max(1) as f64;
            Some(format!(
                "({name}: {in_use} in use, {reserved} reserved of {limit}, largest free block {largest_free}, \
                 fragmentation {:.0} %)",
                100.0 * apart
            ))
        }
    }
}

/// Who has a claim to a device.
fn claims(error: &DeviceError) -> String {
    let list = |head, rows: Vec<(&String, &Bytes)>| {
        let mut table = Table::new([head, "size"]).right(1);
        rows.iter().for_each(|(name, bytes)| table.row([name.to_string(), bytes.to_string()]));
        if rows.is_empty() { String::new() } else { table.print() + "\n" }
    };
    match error {
        DeviceError::TooMuch { shares, .. } => {
            list("assigned to", shares.iter().map(|Share { name, limit }| (name, limit)).collect())
        }
        DeviceError::Held { holders, .. } => {
            list("held by", holders.iter().map(|Reservation { who, bytes }| (who, bytes)).collect())
        }
        DeviceError::Unknown { .. }
        | DeviceError::Duplicate { .. }
        | DeviceError::Empty { .. }
        | DeviceError::OutOfMemory(_) => String::new(),
    }
}
