//! What is found in what the program was doing: keeping more and more, building weights, updating them.

use super::{Finding, Reason};
use crate::diagnosis::{Balance, Rise};
use crate::size::print;
use plimsoll_import::oomlog::{Activity, Dump};

/// In use grows from report to report, or one size of chunk has crowded out everything else.
pub(super) fn leak(dump: &Dump, balance: &Balance, growth: Option<Rise>) -> Option<Finding> {
    if let Some(Rise { first, last, reports }) = growth {
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

pub(super) fn weights(dump: &Dump) -> Option<Finding> {
    let op = dump.op.as_deref().unwrap_or_default();
    let named =
        INITIALIZERS.iter().any(|name| op.to_ascii_lowercase().contains(name)) && !op.contains("dropout");
    let request = dump.request.map_or(0, |request| request.bytes);
    let twin = || dump.chunks().any(|chunk| chunk.in_use && chunk.bytes == request);
    let early =
        INITIALIZER_STEPS.contains(&op) && dump.allocations.is_some_and(|count| count < 1000) && twin();
    let slots = dump.activity == Some(Activity::Slots);
    if slots || !named && !early && dump.activity != Some(Activity::Weights) {
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

/// What fills a tensor with zeros.
const ZEROS: [&str; 4] = ["Fill", "ZerosLike", "zeros", "zeros_like"];

/// Slots are filled with zeros beside their weights, before the first step.
pub(super) fn slots(dump: &Dump) -> Option<Finding> {
    let op = dump.op.as_deref().unwrap_or_default();
    let request = dump.request.map_or(0, |request| request.bytes);
    let twins = dump.chunks().filter(|chunk| chunk.in_use && chunk.bytes == request).count();
    let early = dump.allocations.is_some_and(|count| count < 5000);
    let zeros = ZEROS.contains(&op) && early && twins > 0 && request >= 4096;
    if !zeros && dump.activity != Some(Activity::Slots) {
        return None;
    }
    let mut text =
        "it asked while the optimizer's state was being built, one tensor after the other as large as a weight"
            .to_string();
    if twins > 0 {
        text += &format!("; {twins} of just this size are there (the weight, and slots before this one)");
    }
    Some(Finding { reason: Reason::Slots, bytes: request, decisive: false, text, window: None })
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

pub(super) fn optimizer(dump: &Dump) -> Option<Finding> {
    let op = dump.op.as_deref().unwrap_or_default().to_ascii_lowercase();
    let named = OPTIMIZERS.iter().any(|name| op.contains(name));
    if !named && dump.activity != Some(Activity::Optimizer) {
        return None;
    }
    if dump.activity == Some(Activity::Slots) {
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
