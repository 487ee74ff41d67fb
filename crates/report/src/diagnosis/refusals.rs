//! Refusals that are not about the state of a pool: a budget below every plan that was found, an operating system or a
//! driver that had no more, and processes that were ended.

use super::code::{Ask, Code};
use super::findings::{Finding, Reason};
use super::remedies::Remedy;
use super::{driver, ended};
use crate::size::print;
use plimsoll_import::oomlog::{Dump, Figure, Killed, Killer, RefusedBy, Source};
use plimsoll_trace::Bytes;

/// What a refusal is about; nothing where a pool refused.
pub(crate) fn finding(dump: &Dump) -> Option<Finding> {
    let request = dump.request.map_or(0, |request| request.bytes);
    let (reason, bytes, text) = match &dump.refused_by {
        RefusedBy::Pool => return None,
        RefusedBy::Driver(said) => return Some(driver::refused(dump, said)),
        RefusedBy::Copy => return Some(driver::copied(dump)),
        RefusedBy::Killed(killed) => return Some(ended::finding(dump, killed)),
        RefusedBy::System(said) if dump.source == Source::Host => (
            Reason::System,
            request,
            format!("the host had no memory left for the program, which said: {said}"),
        ),
        RefusedBy::System(said) => (
            Reason::System,
            request,
            format!("the limit would have allowed it, the operating system said: {said}"),
        ),
        RefusedBy::Budget { floor, least } => {
            let budget = dump.limit?.bytes;
            let text = format!("{}; {}", floor_text(budget, floor), least_text(budget, least));
            (Reason::OverBudget, request.saturating_sub(budget), text)
        }
    };
    Some(Finding { reason, bytes, decisive: true, text, window: None })
}

/// What happened, in a line; nothing where a pool or the operating system refused a request.
pub(crate) fn happened(dump: &Dump) -> Option<String> {
    match &dump.refused_by {
        RefusedBy::Pool | RefusedBy::System(_) => None,
        RefusedBy::Driver(_) => Some(driver::happened(dump, false)),
        RefusedBy::Copy => Some(driver::happened(dump, true)),
        RefusedBy::Killed(killed) => Some(ended::happened(dump, killed)),
        RefusedBy::Budget { .. } => over_budget(dump),
    }
}

/// Why, in a line, where it is not about the state of a pool.
pub(crate) fn why(dump: &Dump, findings: &[Finding]) -> Option<String> {
    let found = matches!(dump.refused_by, RefusedBy::Killed(_) | RefusedBy::Driver(_) | RefusedBy::Copy);
    let text = findings.first().filter(|_| found)?.text.clone();
    let mut letters = text.chars();
    let first: String = letters.next()?.to_uppercase().collect();
    Some(format!("{first}{}.", letters.as_str()))
}

/// What would help against a refusal.
pub(crate) fn remedies(dump: &Dump) -> Vec<Remedy> {
    match &dump.refused_by {
        RefusedBy::Pool => Vec::new(),
        RefusedBy::Driver(_) => driver::remedies(dump, false),
        RefusedBy::Copy => driver::remedies(dump, true),
        RefusedBy::Killed(killed) => ended::remedies(dump, killed),
        RefusedBy::System(_) if dump.source == Source::Host => ended::remedies(dump, &named_nobody()),
        RefusedBy::System(_) => vec![smaller_limit()],
        RefusedBy::Budget { least, .. } => {
            higher_budget(dump).into_iter().chain([less_a_step(dump, least)]).collect()
        }
    }
}

/// A host that had no memory has ended nobody.
fn named_nobody() -> Killed {
    Killed { by: Killer::Machine, ..Killed::default() }
}

fn over_budget(dump: &Dump) -> Option<String> {
    let (request, budget) = (dump.request?.bytes, dump.limit?.bytes);
    let more = print(request.saturating_sub(budget));
    let most = dump.op.as_ref().map_or(String::new(), |op| format!("; most is live during {op}"));
    Some(format!(
        "nothing was run: the smallest plan found needs {}, {more} more than the budget of {}{most}.",
        print(request),
        print(budget)
    ))
}

fn floor_text(budget: u64, floor: &Figure) -> String {
    match floor.bytes <= budget {
        true => format!(
            "{} are live at once in that plan, which would fit if there were no gaps",
            print(floor.bytes)
        ),
        false => format!("{} are live at once in that plan", print(floor.bytes)),
    }
}

fn least_text(budget: u64, least: &Figure) -> String {
    match least.bytes <= budget {
        true => format!(
            "a plan within the budget is not ruled out: the bound for this batch is {}",
            print(least.bytes)
        ),
        false => format!("no plan for this batch needs less than {}, so none fits", print(least.bytes)),
    }
}

fn higher_budget(dump: &Dump) -> Option<Remedy> {
    let (request, budget) = (dump.request?.bytes, dump.limit?.bytes);
    let text = format!("{} more: a plan for it was found and proved", print(request.saturating_sub(budget)));
    Some(Remedy {
        key: "higher_limit",
        title: format!("a budget of {}", print(request)),
        enough: Some(true),
        largest_block: None,
        text,
        code: Code::Ask(Ask::Train { memory: Bytes(request) }),
    })
}

fn less_a_step(dump: &Dump, least: &Figure) -> Remedy {
    let ruled_out = dump.limit.is_some_and(|budget| least.bytes > budget.bytes);
    let text = match ruled_out {
        true => {
            "a smaller batch, a leaner optimizer or a smaller model: computing values again cannot be enough"
        }
        false => "a smaller batch, a leaner optimizer or a smaller model",
    };
    Remedy {
        key: "smaller_step",
        title: "a step that needs less".to_string(),
        enough: None,
        largest_block: None,
        text: text.to_string(),
        code: Code::Ask(Ask::FitAllowingAll { memory: Bytes(dump.limit.map_or(0, |budget| budget.bytes)) }),
    }
}

fn smaller_limit() -> Remedy {
    Remedy {
        key: "system",
        title: "memory that the system can give".to_string(),
        enough: None,
        largest_block: None,
        text: "look for a limit of the shell or container below the device's (address space, locked memory, cgroup), or end other programs"
            .to_string(),
        code: Code::Ask(Ask::Devices),
    }
}
