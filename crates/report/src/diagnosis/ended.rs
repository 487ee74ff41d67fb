//! Processes that were ended: by whom, what they held, and what would help on a host.

use super::code::{self, Ask, Code};
use super::findings::{Finding, Reason};
use super::remedies::Remedy;
use crate::size::print;
use plimsoll_import::oomlog::{Dump, Killed, Killer};
use plimsoll_trace::Bytes;

/// What the end of a process is about.
pub(super) fn finding(dump: &Dump, killed: &Killed) -> Finding {
    let held = dump.in_use.or(dump.pool).map_or(0, |figure| figure.bytes);
    let text = match killed.by {
        Killer::Unnamed => {
            "signal 9 (exit code 137 = 128 + 9) ends a process at once; for a training run it is nearly always the kernel's \
             out-of-memory killer or a container's limit, but the log does not say it"
                .to_string()
        }
        Killer::Notebook => "the notebook's machine ran out of memory on the host, not on the GPU".to_string(),
        Killer::Machine => format!("the whole machine had no memory left{}", of(dump)),
        Killer::Cgroup => format!("its memory cgroup (a container, job or service) reached its limit{}", of(dump)),
        Killer::Container => format!("its container reached its limit{}", of(dump)),
        Killer::Slurm => format!("the Slurm job reached the memory that it had asked for{}", of(dump)),
    };
    Finding {
        reason: Reason::Killed,
        bytes: held,
        decisive: killed.by != Killer::Unnamed,
        text,
        window: None,
    }
}

/// What happened, in a line.
pub(super) fn happened(dump: &Dump, killed: &Killed) -> String {
    let who = killed.process.as_deref().unwrap_or("the process");
    let pid = killed.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
    let by = match killed.by {
        Killer::Unnamed => "was ended by signal 9",
        Killer::Notebook => "was ended when the host's memory ran out",
        Killer::Slurm => "was ended by Slurm's memory limit",
        _ => "was ended by the kernel's out-of-memory killer",
    };
    let held = dump.in_use.map_or(String::new(), |held| format!(" and held {}", print(held.bytes)));
    format!("{who}{pid} {by}{held}.")
}

/// What would help on a host.
pub(super) fn remedies(dump: &Dump, killed: &Killed) -> Vec<Remedy> {
    let limit = dump.limit.map(|limit| limit.bytes);
    let look = (killed.by == Killer::Unnamed).then(|| {
        remedy(
            "kernel_log",
            "the kernel's log",
            "says whether it was for memory, how much the process held and which limit it met; give it to this command, too",
            code::kernel_log().into(),
        )
    });
    let planned = limit.map(|limit| {
        remedy(
            "planned_layout",
            "a planned run",
            "memory that is planned and reserved before the first step is not exceeded later; whether the model fits is said before \
             it runs",
            Code::Ask(Ask::Train { memory: Bytes(limit) }),
        )
    });
    let more = remedy(
        "host_limit",
        "more memory for the process",
        "a higher limit where there is one, or a larger machine",
        code::host_limit(killed.by, limit).into(),
    );
    let data = remedy(
        "host_data",
        "data that is read as it is needed",
        "data sets in memory, large shuffle buffers, caches and many loading processes are what fills hosts; the model's weights and \
         activations are on the host, too, where no GPU is used",
        code::host_data().into(),
    );
    look.into_iter().chain(planned).chain([more, data]).collect()
}

/// The limit, what was held in all, and who else held some.
fn of(dump: &Dump) -> String {
    let limit = dump.limit.map_or(String::new(), |limit| format!(" of {}", print(limit.bytes)));
    let all =
        dump.pool.map_or(String::new(), |pool| format!("; all its processes held {}", print(pool.bytes)));
    let listed: u64 = dump.holders.iter().fold(0, |sum, holder| sum.saturating_add(holder.bytes.bytes));
    let others = listed.saturating_sub(dump.in_use.map_or(0, |held| held.bytes));
    let beside = match (dump.in_use, others) {
        (Some(_), others) if others > 0 => {
            format!("; the other processes that are listed held {}", print(others))
        }
        _ => String::new(),
    };
    format!("{limit}{all}{beside}")
}

fn remedy(key: &'static str, title: &str, text: &str, code: Code) -> Remedy {
    Remedy { key, title: title.to_string(), enough: None, largest_block: None, text: text.to_string(), code }
}
