//! What is found in a report: each possible cause, looked for by itself and with its figures.

mod activity;
mod pool;

use super::pieces::Window;
use super::{Balance, Kind, Rise, refusals};
use plimsoll_import::oomlog::Dump;

/// Why memory could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// More is wanted than there is.
    TooBig,
    /// What is free lies in pieces.
    Pieces,
    /// Chunks in use are larger than what was asked for.
    Surplus,
    /// What is free lies at the ends of regions that grew one by one.
    RegionTails,
    /// Others hold the device's memory.
    Others,
    /// Building the weights needs temporaries.
    Weights,
    /// What the optimizer remembers of each weight is being built.
    Slots,
    /// More and more is in use.
    Leak,
    /// The optimizer needs temporaries.
    Optimizer,
    /// A budget is below every plan that was found.
    OverBudget,
    /// The operating system had no more.
    System,
    /// A copy to the device found no room there.
    Copy,
    /// The whole process was ended for its memory, or so it seems.
    Killed,
    /// The report does not say enough.
    Unclear,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub reason: Reason,
    /// How much it comes to.
    pub bytes: u64,
    /// Whether the request would have been met without it.
    pub decisive: bool,
    /// It in words, with its figures.
    pub text: String,
    /// The chunks that stand in the way, where it is about them.
    pub window: Option<Window>,
}

impl Reason {
    /// The reason in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::TooBig => "too big",
            Self::Pieces => "free memory in pieces",
            Self::Surplus => "surplus in unsplit chunks",
            Self::RegionTails => "regions that grew one by one",
            Self::Others => "the limit or another process",
            Self::Weights => "building the weights",
            Self::Slots => "building the optimizer's state",
            Self::Leak => "a leak",
            Self::Optimizer => "the optimizer's temporaries",
            Self::OverBudget => "a budget below every plan",
            Self::System => "the operating system",
            Self::Copy => "a copy to the device",
            Self::Killed => "the process was ended",
            Self::Unclear => "unclear",
        }
    }

    /// The reason as a key.
    pub fn key(self) -> &'static str {
        match self {
            Self::TooBig => "too_big",
            Self::Pieces => "external_fragmentation",
            Self::Surplus => "surplus_in_unsplit_chunks",
            Self::RegionTails => "region_tails",
            Self::Others => "limit_or_another_process",
            Self::Weights => "weights_building",
            Self::Slots => "optimizer_state_building",
            Self::Leak => "leak",
            Self::Optimizer => "optimizer_temporaries",
            Self::OverBudget => "over_budget",
            Self::System => "system",
            Self::Copy => "copy_to_device",
            Self::Killed => "killed",
            Self::Unclear => "unclear",
        }
    }
}

/// Everything that is found, what is decisive and large first.
pub(crate) fn find(dump: &Dump, balance: &Balance, growth: Option<Rise>) -> Vec<Finding> {
    if let Some(refusal) = refusals::finding(dump) {
        return vec![refusal];
    }
    let found = [
        pool::too_big(dump, balance),
        pool::in_pieces(dump, balance),
        pool::in_surplus(dump, balance),
        pool::in_tails(dump, balance),
        pool::others(dump, balance),
        activity::leak(dump, balance, growth),
        activity::weights(dump),
        activity::slots(dump),
        activity::optimizer(dump),
    ];
    let mut findings: Vec<Finding> = found.into_iter().flatten().collect();
    findings.sort_by_key(|finding| (!finding.decisive, std::cmp::Reverse(finding.bytes)));
    findings
}

/// The finding that explains a report best.
pub(crate) fn reason(kind: Kind, findings: &[Finding], balance: &Balance) -> Reason {
    use Reason::{
        Copy, Killed, Leak, Optimizer, Others, OverBudget, Pieces, RegionTails, Slots, Surplus, System,
        TooBig, Weights,
    };
    let has = |reason: Reason, decisive: bool| {
        findings.iter().any(|finding| finding.reason == reason && (finding.decisive || !decisive))
    };
    let first = |order: &[(Reason, bool)]| {
        order.iter().find(|(reason, decisive)| has(*reason, *decisive)).map(|(reason, _)| *reason)
    };
    let refused = balance.request.is_some_and(|request| request <= balance.unreserved);
    let found = match kind {
        Kind::Fragmentation if refused => first(&[(Others, false), (Pieces, false)]),
        Kind::Fragmentation => first(&[(RegionTails, true), (Pieces, false), (RegionTails, false)]),
        _ => first(&[
            (OverBudget, true),
            (System, true),
            (Killed, false),
            (Copy, true),
            (Leak, true),
            (Surplus, true),
            (Others, true),
            (Leak, false),
            (Weights, false),
            (Slots, false),
            (Optimizer, false),
            (TooBig, false),
        ]),
    };
    found.unwrap_or(Reason::Unclear)
}
