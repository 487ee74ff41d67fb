//! Three lines that a tired person understands: what happened, why, what to do.

use super::building::Building;
use super::findings::{Finding, Reason};
use super::remedies::Remedy;
use super::step::PlannedStep;
use super::{Balance, Kind, refusals};
use crate::size::print;
use plimsoll_import::oomlog::{Dump, RefusedBy};

/// What happened, why, and what helps.
pub(crate) fn lines(
    dump: &Dump,
    balance: &Balance,
    kind: Kind,
    reason: Reason,
    findings: &[Finding],
    remedies: &[Remedy],
) -> [String; 3] {
    let happened = refusals::happened(dump).unwrap_or_else(|| happened(dump, balance));
    let why = refusals::why(dump, findings).unwrap_or_else(|| why(dump, kind, reason, findings, balance));
    [happened, why, helps(dump, remedies, Building::of(findings))]
}

/// The line about what helps, where the model that ran is known: its plan decides.
pub(crate) fn decided(step: &PlannedStep, helps: &str) -> String {
    match step.fits() {
        true => format!("{} {helps}", step.sentence()),
        false => format!("{} What would have met this request would not be enough.", step.sentence()),
    }
}

fn happened(dump: &Dump, balance: &Balance) -> String {
    let who = dump.op.as_deref().unwrap_or("the program");
    let asked = match balance.request {
        Some(request) => format!("{who} asked for {} and did not get it", print(request)),
        None => "memory ran out; the report does not say how much was asked for".to_string(),
    };
    let (in_use, limit) = (dump.in_use.map(|figure| figure.bytes), dump.limit.map(|figure| figure.bytes));
    let state = match (in_use, limit) {
        (Some(in_use), Some(limit)) if in_use > 0 => {
            format!(": {} of {} were in use", print(in_use), print(limit))
        }
        (None | Some(0), Some(limit)) => format!(": the limit is {}", print(limit)),
        (Some(in_use), None) => format!(": {} were in use", print(in_use)),
        _ => String::new(),
    };
    let largest = match dump.largest_free {
        Some(largest) => {
            let at_least = if largest.at_least { "at least " } else { "" };
            format!(", the largest free block has {at_least}{}", print(largest.bytes))
        }
        None => String::new(),
    };
    format!("{asked}{state}{largest}.")
}

fn why(dump: &Dump, kind: Kind, reason: Reason, findings: &[Finding], balance: &Balance) -> String {
    let text = findings.iter().find(|finding| finding.reason == reason).map(|finding| finding.text.as_str());
    let named = if reason == Reason::Pieces { String::new() } else { format!(" ({})", reason.title()) };
    let rest = text.map_or(String::new(), |text| format!("{named}: {text}"));
    let short = balance.short().filter(|short| *short > 0 && reason != Reason::TooBig);
    let short = short.map_or(String::new(), |short| format!(", short by {} even if compacted", print(short)));
    match kind {
        Kind::Fragmentation => format!("The memory was there, but in pieces{rest}."),
        Kind::Exhaustion => format!("There was not enough memory{short}{rest}."),
        Kind::Unknown => match (dump.limit, dump.in_use) {
            (Some(limit), Some(in_use)) if !in_use.at_least => format!(
                "{} were not in use: a request below that failed because memory was in pieces, a larger one because it was short{rest}.",
                print(limit.bytes.saturating_sub(in_use.bytes))
            ),
            _ => {
                format!("The report does not say enough to tell whether memory was short or in pieces{rest}.")
            }
        },
    }
}

fn helps(dump: &Dump, remedies: &[Remedy], building: Option<Building>) -> String {
    // Nobody can order a compaction; it is a yardstick.
    let remedies: Vec<&Remedy> = remedies.iter().filter(|remedy| remedy.key != "compaction").collect();
    let name = |remedy: &&Remedy| remedy.title.clone();
    let enough: Vec<String> =
        remedies.iter().filter(|remedy| remedy.enough == Some(true)).take(3).map(name).collect();
    let may: Vec<String> =
        remedies.iter().filter(|remedy| remedy.enough.is_none()).take(2).map(name).collect();
    let met = if dump.refused_by == RefusedBy::Pool {
        "Each of these would have met this request"
    } else {
        "Each of these would do"
    };
    let line = match (enough.is_empty(), may.is_empty()) {
        (false, true) => format!("{met}: {}.", enough.join("; ")),
        (false, false) => {
            format!("{met}: {}; worth a try: {}.", enough.join("; "), may.join("; "))
        }
        (true, false) => format!("Worth a try: {}.", may.join("; ")),
        (true, true) => {
            "What would help cannot be computed from this report; see what is missing below.".to_string()
        }
    };
    building.map_or(line.clone(), |building| format!("{} {line}", building.in_vain()))
}
