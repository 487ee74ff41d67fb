//! The doctor: why memory ran out, with figures, and what would help, by calculation.
//!
//! In: a [`Log`] of out-of-memory reports. Out: a [`Diagnosis`] for each. The first question is always the same: would
//! the bytes that are not in use have been enough if they were one piece? Then it is fragmentation, otherwise
//! exhaustion; the rest says why.

mod building;
mod code;
mod driver;
mod ended;
mod findings;
pub mod html;
pub mod json;
mod pieces;
mod refusals;
mod remedies;
mod step;
mod summary;
mod surplus;
pub mod text;

pub use code::{Ask, Code};
pub use findings::{Finding, Reason};
pub use pieces::Window;
pub use remedies::Remedy;
pub use step::PlannedStep;

use plimsoll_import::oomlog::{Dump, Figure, Killed, Killer, Log, RefusedBy};

/// What can be said about each report of a log.
pub fn diagnose(log: Log) -> Vec<Diagnosis> {
    let growth = growth(&log.dumps);
    log.dumps.into_iter().map(|dump| Diagnosis::of(dump, growth)).collect()
}

/// What can be said about one report.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The report.
    pub dump: Dump,
    /// Whether the bytes were there at all.
    pub kind: Kind,
    /// Why they could not be had.
    pub reason: Reason,
    /// Everything that was found, what explains most first.
    pub findings: Vec<Finding>,
    /// What would help, what suffices first.
    pub remedies: Vec<Remedy>,
    /// Three lines for a tired person.
    pub summary: [String; 3],
}

/// Whether the bytes were there at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Enough bytes are not in use, but not in one piece.
    Fragmentation,
    /// Too few bytes are not in use.
    Exhaustion,
    /// The report does not say enough.
    Unknown,
}

/// How the request and the pool compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    /// What was asked for.
    pub(crate) request: Option<u64>,
    /// What is not in use: free inside the regions, or still to be reserved.
    pub(crate) reachable: Option<u64>,
    /// What could still be reserved.
    pub(crate) unreserved: u64,
}

/// In use at the first report of a log and at the last, where it grew from report to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rise {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) reports: usize,
}

impl Diagnosis {
    fn of(dump: Dump, growth: Option<Rise>) -> Self {
        let balance = Balance::of(&dump);
        let kind = balance.kind(&dump);
        let mut findings = findings::find(&dump, &balance, growth);
        let reason = findings::reason(kind, &findings, &balance);
        findings.sort_by_key(|finding| finding.reason != reason);
        let remedies = remedies::find(&dump, &balance, &findings, reason);
        let summary = summary::lines(&dump, &balance, kind, reason, &findings, &remedies);
        Self { dump, kind, reason, findings, remedies, summary }
    }

    /// The same beside the model that ran: its plan decides whether a planned layout is enough, not this one request.
    pub fn beside(mut self, step: &PlannedStep) -> Self {
        self.remedies.retain(|remedy| remedy.key != "planned_layout");
        let place = self.remedies.iter().position(|remedy| step.fits() || remedy.enough == Some(false));
        self.remedies.insert(place.unwrap_or(self.remedies.len()), step.remedy());
        self.summary[2] = summary::decided(step, &self.summary[2]);
        self
    }

    /// The same with what to ask Plimsoll for in a door's words.
    pub fn worded(mut self, words: impl Fn(Ask) -> String) -> Self {
        for remedy in &mut self.remedies {
            if let Code::Ask(ask) = remedy.code {
                remedy.code = Code::Text(words(ask));
            }
        }
        self
    }

    /// The cause in a few words: `fragmentation: ...` or `exhaustion: ...`.
    pub fn cause(&self) -> String {
        match self.reason {
            Reason::Unclear => self.kind.name().to_string(),
            reason => format!("{}: {}", self.kind.name(), reason.title()),
        }
    }
}

impl Kind {
    /// The kind in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fragmentation => "fragmentation",
            Self::Exhaustion => "exhaustion",
            Self::Unknown => "unknown",
        }
    }
}

impl Balance {
    fn of(dump: &Dump) -> Self {
        let bytes = |figure: Option<Figure>| figure.map(|figure| figure.bytes);
        let left = dump.unreserved().map_or(0, |figure| figure.bytes);
        // What others hold cannot be reserved, whatever the limit says.
        let unreserved = bytes(dump.device_free)
            .map_or(left, |free| if dump.limit.is_some() { left.min(free) } else { free });
        let known = |figure: Option<Figure>| bytes(figure.filter(|figure| !figure.at_least));
        let unused = || known(dump.limit)?.checked_sub(known(dump.in_use)?);
        let unused =
            || unused().map(|unused| known(dump.device_free).map_or(unused, |free| unused.min(free)));
        let free = match known(dump.pool) {
            Some(_) => known(dump.free).map(|free| free.saturating_add(unreserved)),
            None => unused().or(known(dump.free)),
        };
        Self { request: bytes(dump.request), reachable: free, unreserved }
    }

    /// What is missing even if everything that is not in use were one piece.
    pub(crate) fn short(&self) -> Option<u64> {
        Some(self.request?.saturating_sub(self.reachable?))
    }

    fn kind(&self, dump: &Dump) -> Kind {
        match &dump.refused_by {
            RefusedBy::Pool => {}
            // A signal alone says nothing about memory.
            RefusedBy::Killed(Killed { by: Killer::Unnamed, .. }) => return Kind::Unknown,
            _ => return Kind::Exhaustion,
        }
        match (self.request, self.reachable) {
            (Some(request), Some(reachable)) if request <= reachable => Kind::Fragmentation,
            (Some(_), Some(_)) => Kind::Exhaustion,
            _ => match (dump.in_use, dump.limit) {
                // So full that any request of a training step would fail.
                (Some(in_use), Some(limit)) if in_use.bytes >= limit.bytes / 100 * 98 => Kind::Exhaustion,
                _ => Kind::Unknown,
            },
        }
    }
}

/// Whether in use grows from report to report of the same allocator.
fn growth(dumps: &[Dump]) -> Option<Rise> {
    let allocator = dumps.first().map(|dump| &dump.allocator)?;
    let same = dumps.iter().filter(|dump| dump.allocator == *allocator);
    let in_use: Vec<u64> = same.filter_map(|dump| dump.in_use.map(|figure| figure.bytes)).collect();
    let (&first, &last) = (in_use.first()?, in_use.last()?);
    let rises = in_use.len() >= 3 && in_use.is_sorted() && last - first >= last / 50;
    rises.then_some(Rise { first, last, reports: in_use.len() })
}
