//! Refusals that are not about the state of a pool: a budget below every plan that was found, and an operating system
//! that had no more.

use super::code::{Ask, Code};
use super::findings::{Finding, Reason};
use super::remedies::Remedy;
use crate::size::print;
use plimsoll_import::oomlog::{Dump, Figure, RefusedBy};
use plimsoll_trace::Bytes;

/// What a refusal is about; nothing where a pool refused.
pub(crate) fn finding(dump: &Dump) -> Option<Finding> {
    let request = dump.request?.bytes;
    let (reason, bytes, text) = match &dump.refused_by {
        RefusedBy::Pool => return None,
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

/// What happened, in a line; nothing where a pool refused.
pub(crate) fn happened(dump: &Dump) -> Option<String> {
    let RefusedBy::Budget { .. } = dump.refused_by else { return None };
    let (request, budget) = (dump.request?.bytes, dump.limit?.bytes);
    let more = print(request.saturating_sub(budget));
    let most = dump.op.as_ref().map_or(String::new(), |op| format!("; most is live during {op}"));
    Some(format!(
        "nothing was run: the smallest plan found needs {}, {more} more than the budget of {}{most}.",
        print(request),
        print(budget)
    ))
}

/// What would help against a refusal.
pub(crate) fn remedies(dump: &Dump) -> Vec<Remedy> {
    match &dump.refused_by {
        RefusedBy::Pool => Vec::new(),
        RefusedBy::System(_) => vec![smaller_limit()],
        RefusedBy::Budget { least, .. } => {
            higher_budget(dump).into_iter().chain([less_a_step(dump, least)]).collect()
        }
    }
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
