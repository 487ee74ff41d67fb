//! What can be wrong with a Keras model, and what would help.

use plimsoll_model::ModelError;

/// A Keras model that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum KerasError {
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("it is no Keras model: {0}")]
    Foreign(String),
    #[error("the archive is broken: {0}")]
    Archive(String),
    #[error("{what} has {found} bytes, more than the {most} that are read")]
    TooLarge { what: String, found: u64, most: u64 },
    #[error("the configuration is broken: {0}")]
    Config(String),
    #[error("the model was saved before it knew the shape of its input")]
    Unbuilt,
    #[error("layer `{path}` ({class}): {problem}")]
    Layer { path: String, class: String, problem: String, hint: Option<String> },
    #[error("input `{input}` has the shape {shape}, of which some extents are not known")]
    Size { input: String, shape: String },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("weights `{path}`: {problem}")]
    Weights { path: String, problem: String },
    #[error("it cannot be written: {0}")]
    Write(std::io::Error),
    #[error("it cannot be written: {0}")]
    Kind(String),
}

impl KerasError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Layer { hint, .. } => hint.clone(),
            Self::Io(error) => plimsoll_state::input_file::hint(error).map(str::to_string),
            Self::Unbuilt => Some(
                "let it begin with keras.Input(shape), or call it on samples, and save it again".to_string(),
            ),
            Self::Size { .. } => {
                Some("write the size behind the file, such as model.keras@224 for images".to_string())
            }
            Self::Foreign(_) => Some(
                "save it with Keras 3: `model.save(\"model.keras\")`, or `model.to_json()` without weights"
                    .to_string(),
            ),
            Self::Kind(_) => Some("a model keeps its kind: .keras as .keras, legacy .h5 as .h5".to_string()),
            _ => None,
        }
    }

    pub(super) fn weights(path: &str, problem: impl ToString) -> Self {
        Self::Weights { path: path.to_string(), problem: problem.to_string() }
    }
}
