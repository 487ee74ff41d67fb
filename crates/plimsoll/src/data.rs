//! Data sets: samples with the truth about them.
//!
//! What a job takes is [`Wanted`]: for each sample its inputs, a target for each output that is trained, and a weight
//! where the objective says so. What a data set has are the [`Field`]s of its [`Samples`]. A trainer binds the ones to
//! the others once, before the first step, or says what is missing.

mod bound;
mod class_weights;
mod digits;
mod error;
mod in_memory;
mod own;
mod synthetic;
mod wanted;

pub use bound::Bound;
pub use class_weights::ClassWeights;
pub use error::DataError;
pub use in_memory::{Column, InMemory};
pub use own::{BoundData, InputRequest, Outline, OwnData, USUAL_MEMORY};
pub use plimsoll_input::{Elements, Field, FieldKind, Samples};
pub use wanted::{Slot, Wanted};

use plimsoll_graph::Shape;

/// A data set, split into what is learned from and what the result is judged by.
pub struct Dataset {
    /// What it is called.
    pub name: String,
    /// What is learned from.
    pub train: Box<dyn Samples>,
    /// What the result is judged by, if the data set has such a part.
    pub test: Option<Box<dyn Samples>>,
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

/// What a data set that has a shape of its own says about a model.
pub fn outline(name: &str) -> Option<Outline> {
    (name == "digits").then(|| Outline { shape: Some(Shape::new(digits::IMAGE_SHAPE)), classes: None })
}

impl Dataset {
    /// Samples of one's own, with some to judge by or none.
    pub fn new(
        name: impl Into<String>,
        train: impl Samples + 'static,
        test: Option<impl Samples + 'static>,
    ) -> Self {
        let test = test.map(|test| Box::new(test) as Box<dyn Samples>);
        Self { name: name.into(), train: Box::new(train), test }
    }
}
