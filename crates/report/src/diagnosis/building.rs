//! Memory that ran out before the first step: weights, and what the optimizer remembers of them. What helps there helps
//! nowhere else, and the other way round.

use super::code;
use super::findings::{Finding, Reason};
use super::remedies::Remedy;
use crate::size::print;
use plimsoll_import::oomlog::Dump;

/// What is being built before the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Building {
    /// Weights, by initializers or from a file.
    Weights,
    /// What the optimizer remembers of each weight.
    Slots,
}

impl Building {
    /// What was being built, if anything was.
    pub(crate) fn of(findings: &[Finding]) -> Option<Self> {
        let has = |reason: Reason| findings.iter().any(|finding| finding.reason == reason);
        match (has(Reason::Slots), has(Reason::Weights)) {
            (true, _) => Some(Self::Slots),
            (false, true) => Some(Self::Weights),
            (false, false) => None,
        }
    }

    /// What would change nothing, in a sentence.
    pub(crate) fn in_vain(self) -> &'static str {
        match self {
            Self::Weights => {
                "It happened while the weights were being built: a smaller batch, recomputation or mixed precision would not change that."
            }
            Self::Slots => {
                "It happened while the optimizer's state was being built: a smaller batch, recomputation or mixed precision would not change that."
            }
        }
    }
}

/// Weights that come from elsewhere.
pub(super) fn elsewhere(dump: &Dump, building: Building) -> Option<Remedy> {
    if building != Building::Weights {
        return None;
    }
    let text = "weights that are built on the host and then copied need no temporaries on the device; without the temporaries of \
                an initializer one weight takes once its size instead of up to three times";
    Some(Remedy {
        key: "weights_on_host",
        title: "build the weights on the host".to_string(),
        enough: None,
        largest_block: None,
        text: text.to_string(),
        code: code::weights(dump.source).into(),
    })
}

/// What a weight of the size that was asked for comes to when it is trained: a floor that no layout undercuts.
pub(super) fn lighter(dump: &Dump, building: Building) -> Option<Remedy> {
    let weight = dump.request?.bytes;
    let [adam, momentum, plain] = [4, 3, 2].map(|copies| weight.saturating_mul(copies));
    let judged = |bytes: u64| match dump.limit {
        Some(limit) if bytes > limit.bytes => format!("{}, more than the limit", print(bytes)),
        _ => print(bytes),
    };
    let text = format!(
        "a weight of {} that is trained takes its gradient and what the optimizer remembers beside itself: with Adam {}, with \
         momentum {}, with plain gradient descent {}; weights in bfloat16 would take half of it and change numbers",
        print(weight),
        judged(adam),
        judged(momentum),
        judged(plain)
    );
    let title = match building {
        Building::Weights => "narrower layers or a leaner optimizer",
        Building::Slots => "a leaner optimizer",
    };
    Some(Remedy {
        key: "leaner_optimizer",
        title: title.to_string(),
        enough: None,
        largest_block: None,
        text,
        code: code::leaner(dump.source).into(),
    })
}
