//! What is found in a report: each possible cause, looked for by itself and with its figures.

use super::pieces::{self, Window, cheapest_window};
use super::surplus::{Surplus, surplus};
use super::{Balance, Growth, Kind};
use crate::size::print;
use plimsoll_import::oomlog::{Activity, Dump, Source};

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
    /// More and more is in use.
    Leak,
    /// The optimizer needs temporaries.
    Optimizer,
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
            Self::Leak => "a leak",
            Self::Optimizer => "the optimizer's temporaries",
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
            Self::Leak => "leak",
            Self::Optimizer => "optimizer_temporaries",
            Self::Unclear => "unclear",
        }
    }
}

/// Everything that is found, what is decisive and large first.
pub(crate) fn find(dump: &Dump, balance: &Balance, growth: Option<Growth>) -> Vec<Finding> {
    let found = [
        too_big(dump, balance),
        in_pieces(dump, balance),
        in_surplus(dump, balance),
        in_tails(dump, balance),
        others(dump, balance),
        leak(dump, balance, growth),
        weights(dump),
        optimizer(dump),
    ];
    let mut findings: Vec<Finding> = found.into_iter().flatten().collect();
    findings.sort_by_key(|finding| (!finding.decisive, std::cmp::Reverse(finding.bytes)));
    findings
}

/// The finding that explains a report best.
pub(crate) fn reason(kind: Kind, findings: &[Finding], balance: &Balance) -> Reason {
    use Reason::{Leak, Optimizer, Others, Pieces, RegionTails, Surplus, TooBig, Weights};
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
            (Leak, true),
            (Surplus, true),
            (Others, true),
            (Leak, false),
            (Weights, false),
            (Optimizer, false),
            (TooBig, false),
        ]),
    };
    found.unwrap_or(Reason::Unclear)
}

fn too_big(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let (request, reachable) = (balance.request?, balance.reachable?);
    let short = request.checked_sub(reachable).filter(|short| *short > 0)?;
    let alone = dump.limit.is_some_and(|limit| request > limit.bytes);
    let text = match alone {
        true => format!(
            "one request of {} is larger than the whole limit of {}",
            print(request),
            print(dump.limit?.bytes)
        ),
        false => format!(
            "short by {} even if compacted: {} are not in use, {} were asked for",
            print(short),
            print(reachable),
            print(request)
        ),
    };
    Some(Finding { reason: Reason::TooBig, bytes: short, decisive: alone, text, window: None })
}

fn in_pieces(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let free = dump.free.filter(|free| free.bytes > 0)?.bytes;
    let Some(largest) = dump.largest_free else { return unlisted_pieces(dump, balance, free) };
    let pieces = dump.chunks().filter(|chunk| !chunk.in_use).count();
    let share = 100.0 * free.saturating_sub(largest.bytes) as f64 / free as f64;
    let window = balance
        .request
        .and_then(|request| cheapest_window(dump, request))
        .filter(|window| !window.blockers.is_empty() && window.in_use() < window.bytes);
    let at_least = if largest.at_least { "at least " } else { "" };
    let count = if pieces > 0 { format!("{pieces} pieces") } else { "pieces".to_string() };
    let mut text = format!(
        "{} are free in {count}, the largest {at_least}{} (fragmentation {share:.0} %)",
        print(free),
        print(largest.bytes)
    );
    if let Some(window) = &window {
        let (moved, count) = (print(window.in_use()), window.blockers.len());
        let chunks = if count == 1 { "chunk stands" } else { "chunks stand" };
        text +=
            &format!("; the least that is in the way: {count} {chunks} between free pieces, {moved} in all");
    }
    let decisive = balance.request.is_some_and(|request| largest.bytes < request && request <= free);
    Some(Finding { reason: Reason::Pieces, bytes: free - largest.bytes.min(free), decisive, text, window })
}

/// Where only sums are known: enough is free, and yet it was not had.
fn unlisted_pieces(dump: &Dump, balance: &Balance, free: u64) -> Option<Finding> {
    let request = balance.request.filter(|request| *request <= free.saturating_add(balance.unreserved))?;
    let text = format!(
        "{} are reserved but not allocated, and no piece of it has the {} asked for",
        print(free),
        print(request)
    );
    let decisive = dump.pool.is_some() && request <= free;
    Some(Finding { reason: Reason::Pieces, bytes: free, decisive, text, window: None })
}

fn in_surplus(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let Surplus { bytes, worst, certain } = surplus(dump)?;
    let short = balance.short();
    // A granule here and there is no cause.
    let much = dump.in_use.is_some_and(|in_use| bytes >= in_use.bytes / 20);
    if bytes < 1 << 20 && !much || bytes == 0 {
        return None;
    }
    let decisive = much && short.is_some_and(|short| short > 0 && bytes >= short);
    let mut text = format!(
        "{} of what is in use was never asked for: chunks are larger than their requests",
        print(bytes)
    );
    if let Some((chunk, most)) = worst {
        let likely = if certain { "" } else { "most likely " };
        text += &format!(
            "; {} of it in one unsplit chunk, {likely}the one of {} at 0x{:x}, which holds a request of {}",
            print(most),
            print(chunk.bytes),
            chunk.address,
            print(chunk.bytes.saturating_sub(most))
        );
    }
    Some(Finding { reason: Reason::Surplus, bytes, decisive, text, window: None })
}

fn in_tails(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let regions = dump.regions.len();
    if regions < 2 && balance.unreserved == 0 || !dump.is_complete() {
        return None;
    }
    let (tails, count) = pieces::tails(dump);
    let joined = pieces::largest_joined(dump, balance.unreserved);
    let largest = dump.largest_free.map_or(0, |largest| largest.bytes);
    // Borders are all that is in the way where the ends of regions and what is not reserved would do.
    let borders = joined.max(tails.saturating_add(balance.unreserved));
    let decisive = balance.request.is_some_and(|request| largest < request && request <= borders);
    let stranded = stranded(dump, balance.request.unwrap_or(0));
    if tails + balance.unreserved == 0 {
        return None;
    }
    let mut text = format!(
        "the pool grew in {regions} regions, which never join; {} are free at the ends of {count} of them",
        print(tails)
    );
    if stranded > 0 {
        text += &format!(", {} lie in regions that are smaller than the request", print(stranded));
    }
    if balance.unreserved > 0 {
        text += &format!(", {} of the limit are not reserved", print(balance.unreserved));
    }
    text +=
        &format!("; with the same chunks in one region the largest free block would be {}", print(joined));
    Some(Finding {
        reason: Reason::RegionTails,
        bytes: joined.saturating_sub(largest),
        decisive,
        text,
        window: None,
    })
}

/// Free bytes in regions that could not meet the request even if they were empty.
fn stranded(dump: &Dump, request: u64) -> u64 {
    let small = dump.regions.iter().filter(|region| region.bytes < request);
    small.map(|region| region.free().0).sum()
}

fn others(dump: &Dump, balance: &Balance) -> Option<Finding> {
    let request = balance.request?;
    if dump.source == Source::TensorFlow && request <= balance.unreserved {
        let text = format!(
            "the limit of {} leaves {} to reserve, and the device still refused: another process has the memory",
            print(dump.limit?.bytes),
            print(balance.unreserved)
        );
        return Some(Finding { reason: Reason::Others, bytes: request, decisive: true, text, window: None });
    }
    let held = dump.others?.bytes;
    let short = balance.short()?;
    let capacity = dump.capacity.or(dump.limit)?.bytes;
    if held < capacity / 20 {
        return None;
    }
    let text = format!(
        "{} of the device's {} are held by others: other processes, or this one outside of its pool",
        print(held),
        print(capacity)
    );
    Some(Finding {
        reason: Reason::Others,
        bytes: held,
        decisive: short > 0 && held >= short,
        text,
        window: None,
    })
}

/// In use grows from report to report, or one size of chunk has crowded out everything else.
fn leak(dump: &Dump, balance: &Balance, growth: Option<Growth>) -> Option<Finding> {
    if let Some(Growth { first, last, reports }) = growth {
        let text = format!("in use grew from {} to {} over {reports} reports", print(first), print(last));
        return Some(Finding {
            reason: Reason::Leak,
            bytes: last - first,
            decisive: false,
            text,
            window: None,
        });
    }
    let crowd = dump.sizes.iter().max_by_key(|size| size.bytes.saturating_mul(size.count))?;
    let bytes = crowd.bytes.saturating_mul(crowd.count);
    let in_use = dump.in_use?.bytes;
    // The steps of a loop over time keep one each, too, and that is no leak.
    let loops = dump.op.as_ref().is_some_and(|op| op.contains("while") || op.contains("gradient"));
    if crowd.count < 100 || bytes < in_use / 10 * 9 || crowd.bytes < 4096 || loops {
        return None;
    }
    let same = balance.request == Some(crowd.bytes);
    let text = format!(
        "{} chunks of {} each are in use, {:.0} % of everything{}: something keeps one more of them at every step",
        crowd.count,
        print(crowd.bytes),
        100.0 * bytes as f64 / in_use.max(1) as f64,
        if same { ", and the request is one more" } else { "" }
    );
    Some(Finding { reason: Reason::Leak, bytes, decisive: same, text, window: None })
}

/// What initializers are called; the second list only counts at the very beginning of a program.
const INITIALIZERS: [&str; 6] =
    ["random", "truncatednormal", "initializer", "glorot", "orthogonal", "varhandle"];
const INITIALIZER_STEPS: [&str; 4] = ["AddV2", "Mul", "Sub", "Cast"];

fn weights(dump: &Dump) -> Option<Finding> {
    let op = dump.op.as_deref().unwrap_or_default();
    let named =
        INITIALIZERS.iter().any(|name| op.to_ascii_lowercase().contains(name)) && !op.contains("dropout");
    let request = dump.request.map_or(0, |request| request.bytes);
    let twin = || dump.chunks().any(|chunk| chunk.in_use && chunk.bytes == request);
    let early =
        INITIALIZER_STEPS.contains(&op) && dump.allocations.is_some_and(|count| count < 1000) && twin();
    if !named && !early && dump.activity != Some(Activity::Weights) {
        return None;
    }
    let who = if op.is_empty() { "it".to_string() } else { format!("`{op}`") };
    let mut text = format!("{who} asked while the weights were being built or loaded, before any step");
    if let Some(count) = dump.allocations.filter(|count| *count < 1000) {
        text += &format!(": after only {count} allocations");
    }
    text += "; an initializer holds one or two temporaries as large as the weight itself";
    Some(Finding { reason: Reason::Weights, bytes: request, decisive: false, text, window: None })
}

/// What optimizers' ops are called.
const OPTIMIZERS: [&str; 12] = [
    "adam/",
    "adamw/",
    "nadam/",
    "sgd/",
    "rmsprop/",
    "momentum/",
    "adagrad/",
    "lion/",
    "lamb/",
    "optimizer",
    "resourceapply",
    "ftrl/",
];

fn optimizer(dump: &Dump) -> Option<Finding> {
    let op = dump.op.as_deref().unwrap_or_default().to_ascii_lowercase();
    let named = OPTIMIZERS.iter().any(|name| op.contains(name));
    if !named && dump.activity != Some(Activity::Optimizer) {
        return None;
    }
    let request = dump.request?.bytes;
    let twins = dump.chunks().filter(|chunk| chunk.in_use && chunk.bytes == request).count();
    let who = dump.op.as_ref().map_or("the optimizer".to_string(), |op| format!("`{op}`"));
    let mut text = format!(
        "{who} is part of the optimizer's update: it needs temporaries as large as the weight, here {}",
        print(request)
    );
    if twins > 0 {
        text += &format!(
            "; {twins} chunks of just this size are in use (weights, slots, gradients, temporaries)"
        );
    }
    Some(Finding { reason: Reason::Optimizer, bytes: request, decisive: false, text, window: None })
}
