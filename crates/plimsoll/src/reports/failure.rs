//! Why something could not be done, in one form for every command.

use crate::{Hint, RequestError};
use plimsoll_trace::Evidence;
use serde::Serialize;

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureReport {
    /// What is wrong, in a line.
    pub error: String,
    /// Whether a problem was found in doing what was asked for; otherwise what was asked for makes no sense.
    #[serde(skip)]
    pub is_problem: bool,
    /// What would help, as a door words it; none until it has.
    pub hint: Option<String>,
    /// What would help, as a value.
    pub remedy: Option<Hint>,
    /// Who asked for how much memory and who holds what, where memory is what was missing.
    pub evidence: Option<Box<Evidence>>,
}

impl FailureReport {
    /// The report of an error.
    pub fn of(error: &RequestError) -> Self {
        Self {
            error: error.to_string(),
            is_problem: error.is_problem(),
            hint: None,
            remedy: error.hint(),
            evidence: error.evidence().map(Box::new),
        }
    }
}
