//! Why data cannot be trained on.

use plimsoll_graph::TensorType;
use plimsoll_input::InputError;

/// A data set that does not exist or does not fit the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum DataError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("there is no data set `{name}`")]
    Unknown { name: String },
    #[error("the model takes {wanted}, but `{name}` has {found}")]
    Mismatch { name: String, wanted: String, found: String },
    #[error("`{name}` has {found} classes, but the model predicts {wanted}")]
    Classes { name: String, found: usize, wanted: usize },
    #[error("the data has no {wanted}; it has {}", listed(.fields))]
    Missing { wanted: String, fields: Vec<String> },
    #[error("the data has the {field}, where the model takes {wanted}")]
    WrongType { field: String, wanted: TensorType },
    #[error("the data has sample weights for `{output}`, which the objective does not count")]
    IdleWeights { output: String },
    #[error("the data has no samples")]
    Empty,
    #[error("a batch of {batch} samples cannot be made of {samples}")]
    TooFew { batch: usize, samples: usize },
    #[error("a step of {planned} samples was planned, not of {given}")]
    BatchSize { planned: usize, given: usize },
    #[error("there is no sample {sample}: there are {count}, counted from 0")]
    NoSuchSample { sample: usize, count: usize },
    #[error("these samples were bound by another trainer")]
    OtherTrainer,
    #[error("the {field} has {elements} elements, which is no whole number of samples")]
    Ragged { field: String, elements: usize },
    #[error("the {field} has {found} samples, the fields before it {expected}")]
    Counts { field: String, found: usize, expected: usize },
    #[error("there are two fields for the {field}")]
    TwoFields { field: String },
    #[error("the weight of class {class} is {weight}")]
    ClassWeight { class: i32, weight: String },
    #[error("the target `{output}` is {found}: a sample has no class there")]
    NoClass { output: String, found: String },
}

fn listed(fields: &[String]) -> String {
    if fields.is_empty() { "no fields".to_string() } else { fields.join(", ") }
}

impl DataError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Input(error) => error.hint(),
            Self::Unknown { .. } => {
                let names: Vec<&str> = super::NAMES.iter().map(|(name, _)| *name).collect();
                Some(format!(
                    "the data sets are {}; data of your own are named by their path",
                    names.join(", ")
                ))
            }
            Self::Mismatch { name, .. } if name == "digits" => {
                Some("digits are 8x8 images with one channel: try `cnn@8,channels=1` or `mlp@64`".to_string())
            }
            Self::IdleWeights { .. } => Some("set `sample_weights` of the output's head".to_string()),
            Self::TooFew { samples, .. } => Some(format!("make the batch {samples} or smaller")),
            Self::Missing { .. } => Some("fields are found by their names".to_string()),
            _ => None,
        }
    }
}
