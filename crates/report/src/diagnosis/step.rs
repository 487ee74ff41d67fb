//! A planned step of the model that ran, beside a report: it decides where a report alone cannot.

use super::code::{Ask, Code};
use super::remedies::Remedy;
use crate::size::print;
use plimsoll_trace::Bytes;

/// The key of what it says among remedies.
pub(crate) const PLANNED_STEP: &str = "planned_step";

/// What a plan for the whole step takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    /// The model's name.
    pub model: String,
    /// How many samples a step takes.
    pub batch: usize,
    /// What a plan for the step as written takes.
    pub as_written: Bytes,
    /// What a plan takes that computes values again or cuts the batch, where one was found that fits.
    pub squeezed: Option<Bytes>,
    /// What it may take.
    pub limit: Bytes,
}

impl PlannedStep {
    /// Whether a plan fits.
    pub(crate) fn fits(&self) -> bool {
        self.squeezed.unwrap_or(self.as_written) <= self.limit
    }

    /// What the plan comes to, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { model, batch, as_written, squeezed, limit } = self;
        let head = format!("A planned step of {model} with batch {batch} needs {}", print(as_written.0));
        match (squeezed, self.fits()) {
            (Some(squeezed), true) => format!(
                "{head}, and {} where values are computed again or the batch is cut: that fits {}.",
                print(squeezed.0),
                print(limit.0)
            ),
            (None, true) => format!("{head}: the whole of it fits {}.", print(limit.0)),
            (_, false) => format!(
                "{head}, {} more than {}, and no exact plan that was found fits.",
                print(as_written.0.saturating_sub(limit.0)),
                print(limit.0)
            ),
        }
    }

    /// The plan among what would help.
    pub(crate) fn remedy(&self) -> Remedy {
        let ask = match self.fits() {
            true => Ask::Train { memory: self.limit },
            false => Ask::FitAllowingAll { memory: self.limit },
        };
        Remedy {
            key: PLANNED_STEP,
            title: "a planned step".to_string(),
            enough: Some(self.fits()),
            largest_block: None,
            text: self.sentence(),
            code: Code::Ask(ask),
        }
    }
}
