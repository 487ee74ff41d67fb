//! Why a state cannot be used.

use crate::Mismatch;
use std::io;
use std::path::PathBuf;

/// Why a state cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum StateError {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: {problem}", path.display())]
    Format { path: PathBuf, problem: String },
    #[error("`{tensor}`: {error}")]
    Contents { tensor: String, error: io::Error },
    #[error("the state does not hold: {0}")]
    Invalid(String),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

impl StateError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("a state is a .safetensors file that a run has saved".to_string())
            }
            Self::File { error, .. } => crate::input_file::hint(error).map(str::to_string),
            Self::Contents { .. } => None,
            Self::Format { .. } => {
                Some("a file that is cut or damaged cannot be repaired: take an earlier one".to_string())
            }
            Self::Invalid(_) => None,
            Self::Mismatch(mismatch) => mismatch.hint(),
        }
    }
}
