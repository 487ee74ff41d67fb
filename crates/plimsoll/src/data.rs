//! Data sets: samples with the truth about them.

mod digits;
mod synthetic;

use plimsoll_graph::{ElementType, OpKind, Shape, TensorType};
use plimsoll_train::TrainingGraph;

/// A data set, split into what is learned from and what the result is judged by.
pub struct Dataset {
    /// The name it was asked for by.
    pub name: &'static str,
    /// What is learned from.
    pub train: Box<dyn Samples>,
    /// What the result is judged by, if the data set has such a part.
    pub test: Option<Box<dyn Samples>>,
}

/// Samples that are written straight to where they are needed.
pub trait Samples {
    /// How many there are.
    fn count(&self) -> usize;

    /// Writes one sample.
    fn write_input(&self, index: usize, into: Elements<'_>);

    /// Writes the truth about one sample.
    fn write_target(&self, index: usize, into: Elements<'_>);
}

/// A place to write elements to.
pub enum Elements<'a> {
    /// Float32.
    F32(&'a mut [f32]),
    /// Int32.
    I32(&'a mut [i32]),
}

/// What a training graph wants of a data set, for one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The model's input without the batch.
    pub input: TensorType,
    /// The truth without the batch.
    pub target: TensorType,
    /// How many classes or numbers the model predicts.
    pub classes: usize,
    /// One more than the largest id the model takes, if its input are ids.
    pub ids: usize,
}

/// A data set that does not exist or does not fit the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// No such data set.
    #[error("there is no data set `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The model takes something else.
    #[error("the model takes {wanted} with {truth} as the truth, but `{name}` has {found}")]
    Mismatch {
        /// The data set.
        name: &'static str,
        /// What the model takes.
        wanted: TensorType,
        /// What the truth must look like.
        truth: TensorType,
        /// What the data set has.
        found: String,
    },
    /// The model predicts fewer classes than the data set has.
    #[error("`{name}` has {found} classes, but the model predicts {wanted}")]
    Classes {
        /// The data set.
        name: &'static str,
        /// How many it has.
        found: usize,
        /// How many the model predicts.
        wanted: usize,
    },
}

/// The names of the data sets, with a line about each.
pub const NAMES: [(&str, &str); 2] = [
    ("digits", "handwritten digits: 1,437 images of 8x8x1 to learn from and 360 to judge by, 10 classes"),
    ("synthetic", "random samples of whatever the model takes, for measuring"),
];

/// Opens a data set by its name, if it is what the model wants.
pub fn open(name: &str, wanted: &Wanted, seed: u64) -> Result<Dataset, DataError> {
    match name {
        "digits" => digits::open(wanted),
        "synthetic" => Ok(synthetic::open(wanted, seed)),
        _ => Err(DataError::Unknown { name: name.to_string() }),
    }
}

/// The shape of one sample of a data set that has a shape of its own.
pub fn sample_shape(name: &str) -> Option<Shape> {
    (name == "digits").then(|| Shape::new(digits::IMAGE_SHAPE))
}

impl Wanted {
    /// What a training graph wants.
    pub fn of(training: &TrainingGraph) -> Self {
        let graph = &training.graph;
        let one_sample =
            |tensor: &TensorType| TensorType::new(tensor.element, Shape::new(&tensor.shape.extents()[1..]));
        let tables = graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Embedding(_)));
        let ids = tables.map(|op| graph.tensor(op.inputs[0]).shape[0]).min().unwrap_or(2);
        Self {
            input: one_sample(graph.tensor(training.input)),
            target: one_sample(graph.tensor(training.targets)),
            classes: graph.tensor(training.predictions).shape.last(),
            ids,
        }
    }

    /// Whether the model takes samples of this shape, as they are or laid out flat, and one label each.
    fn takes_images(&self, shape: [usize; 3]) -> bool {
        let flat = Shape::new([shape.iter().product::<usize>()]);
        let fits = self.input.shape == Shape::from(shape) || self.input.shape == flat;
        fits && self.input.element == ElementType::F32 && self.target == TensorType::i32([])
    }
}
