//! Why samples cannot be had.

use crate::Shortage;
use std::fmt::Display;
use std::path::Path;

/// Why samples cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum InputError {
    #[error("{path}: {problem}")]
    File { path: String, problem: String, hint: Option<String> },
    #[error("{place}: {problem}")]
    Sample { place: String, problem: String },
    #[error(transparent)]
    Memory(#[from] Shortage),
    #[error("{place}: {shortage}")]
    SampleMemory { place: String, shortage: Shortage },
    #[error("{problem}")]
    Unsuitable { problem: String, hint: Option<String> },
}

impl InputError {
    /// Something wrong with a file or folder.
    pub fn file(path: &Path, problem: impl Display) -> Self {
        Self::File { path: path.display().to_string(), problem: problem.to_string(), hint: None }
    }

    /// The same, with what would help.
    pub fn file_with(path: &Path, problem: impl Display, hint: impl Into<String>) -> Self {
        Self::File { path: path.display().to_string(), problem: problem.to_string(), hint: Some(hint.into()) }
    }

    /// Something wrong with one sample.
    pub fn sample(place: impl Into<String>, problem: impl Display) -> Self {
        Self::Sample { place: place.into(), problem: problem.to_string() }
    }

    /// Samples that are not what is wanted.
    pub fn unsuitable(problem: impl Into<String>, hint: Option<String>) -> Self {
        Self::Unsuitable { problem: problem.into(), hint }
    }

    /// Whether one sample is to blame, so that others may be fine.
    pub fn is_of_one_sample(&self) -> bool {
        matches!(self, Self::Sample { .. } | Self::SampleMemory { .. })
    }

    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File { hint, .. } | Self::Unsuitable { hint, .. } => hint.clone(),
            Self::Memory(_) | Self::SampleMemory { .. } => Some("give input more memory".to_string()),
            Self::Sample { .. } => None,
        }
    }
}
