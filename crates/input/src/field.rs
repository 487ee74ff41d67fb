//! The fields of a sample: what they are for, what they are called, and what they look like.

use plimsoll_graph::{ElementType, Shape, TensorType};
use std::fmt;

/// What every sample of a data set has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it is for.
    pub kind: FieldKind,
    /// What it is called: the name of a model's input, or of the output that a target or a weight is about.
    pub name: String,
    /// What one element is.
    pub element: ElementType,
    /// The shape in one sample; nothing where samples are made up in whatever shape is asked for.
    pub shape: Option<Shape>,
}

/// What a field is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// What a model reads.
    Input,
    /// The truth about an output.
    Target,
    /// How much the sample counts in the loss of an output: one float32.
    SampleWeight,
}

/// A place to write elements to.
pub enum Elements<'a> {
    /// Float32.
    F32(&'a mut [f32]),
    /// Int32.
    I32(&'a mut [i32]),
}

impl Field {
    /// A field of known shape.
    pub fn new(kind: FieldKind, name: impl Into<String>, tensor: TensorType) -> Self {
        Self { kind, name: name.into(), element: tensor.element, shape: Some(tensor.shape) }
    }

    /// Whether it can be written where such a sample is wanted. Axes of extent 1 make no difference: a column of
    /// numbers is one.
    pub fn is(&self, tensor: &TensorType) -> bool {
        let same = |shape: &Shape| long_axes(shape).eq(long_axes(&tensor.shape));
        self.element == tensor.element && self.shape.as_ref().is_none_or(same)
    }
}

fn long_axes(shape: &Shape) -> impl Iterator<Item = usize> + '_ {
    shape.extents().iter().copied().filter(|&extent| extent != 1)
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` of ", self.kind, self.name)?;
        match &self.shape {
            Some(shape) => write!(f, "{}", TensorType::new(self.element, shape.clone())),
            None => write!(f, "{} in any shape", self.element.name()),
        }
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Target => "target",
            Self::SampleWeight => "sample weight",
        })
    }
}
