//! Data of one's own, as plain vectors.
//!
//! ```
//! use plimsoll::data::{InMemory, Samples};
//!
//! let samples = InMemory::new()
//!     .input("height", [1], vec![1.7f32, 1.8])?
//!     .input("words", [3], vec![5, 7, 0, 2, 9, 9])?
//!     .target("age", [1], vec![31.0f32, 44.0])?
//!     .sample_weight("age", vec![1.0, 0.5])?;
//! assert_eq!(samples.count(), 2);
//! # Ok::<(), plimsoll::data::DataError>(())
//! ```

use super::{DataError, Elements, Field, FieldKind, Samples};
use plimsoll_graph::{ElementType, Shape, TensorType};

/// Samples that are held as columns, one for each field, one sample after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InMemory {
    fields: Vec<Field>,
    columns: Vec<Column>,
    count: usize,
}

/// One field of all samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Float32.
    F32(Vec<f32>),
    /// Int32.
    I32(Vec<i32>),
}

impl InMemory {
    /// No fields yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input of the model; the shape is that of one sample.
    pub fn input(
        self,
        name: &str,
        shape: impl Into<Shape>,
        column: impl Into<Column>,
    ) -> Result<Self, DataError> {
        self.with(FieldKind::Input, name, shape.into(), column.into())
    }

    /// Adds the truth about an output.
    pub fn target(
        self,
        output: &str,
        shape: impl Into<Shape>,
        column: impl Into<Column>,
    ) -> Result<Self, DataError> {
        self.with(FieldKind::Target, output, shape.into(), column.into())
    }

    /// Adds how much each sample counts in the loss of an output.
    pub fn sample_weight(self, output: &str, column: Vec<f32>) -> Result<Self, DataError> {
        self.with(FieldKind::SampleWeight, output, Shape::scalar(), column.into())
    }

    fn with(mut self, kind: FieldKind, name: &str, shape: Shape, column: Column) -> Result<Self, DataError> {
        let (each, elements) = (shape.elements(), column.len());
        let field = Field::new(kind, name, TensorType::new(column.element(), shape));
        if self.fields.iter().any(|other| (other.kind, &other.name) == (field.kind, &field.name)) {
            return Err(DataError::TwoFields { field: format!("{kind} `{name}`") });
        }
        if each == 0 || !elements.is_multiple_of(each) {
            return Err(DataError::Ragged { field: field.to_string(), elements });
        }
        let (found, expected) = (elements / each, self.count);
        if found == 0 {
            return Err(DataError::Empty);
        }
        if !self.fields.is_empty() && found != expected {
            return Err(DataError::Counts { field: field.to_string(), found, expected });
        }
        self.count = found;
        self.fields.push(field);
        self.columns.push(column);
        Ok(self)
    }
}

impl Samples for InMemory {
    fn count(&self) -> usize {
        self.count
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn write(&self, field: usize, sample: usize, into: Elements<'_>) {
        match (&self.columns[field], into) {
            (Column::F32(column), Elements::F32(into)) => {
                into.copy_from_slice(&column[sample * into.len()..][..into.len()]);
            }
            (Column::I32(column), Elements::I32(into)) => {
                into.copy_from_slice(&column[sample * into.len()..][..into.len()]);
            }
            _ => unreachable!("fields are bound by their types"),
        }
    }
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::F32(column) => column.len(),
            Self::I32(column) => column.len(),
        }
    }

    fn element(&self) -> ElementType {
        match self {
            Self::F32(_) => ElementType::F32,
            Self::I32(_) => ElementType::I32,
        }
    }
}

impl From<Vec<f32>> for Column {
    fn from(column: Vec<f32>) -> Self {
        Self::F32(column)
    }
}

impl From<Vec<i32>> for Column {
    fn from(column: Vec<i32>) -> Self {
        Self::I32(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_go_together_are_refused() {
        let one = || InMemory::new().input("x", [2], vec![1.0f32; 6]).unwrap();
        assert_eq!(one().count(), 3);
        assert!(matches!(one().input("x", [2], vec![1.0f32; 6]), Err(DataError::TwoFields { .. })));
        assert!(matches!(one().target("y", [4], vec![1; 6]), Err(DataError::Ragged { .. })));
        assert!(matches!(one().target("y", [0], vec![1; 6]), Err(DataError::Ragged { .. })));
        let counts = one().target("y", [], vec![1; 2]).unwrap_err();
        assert_eq!(counts.to_string(), "the target `y` of i32[] has 2 samples, the fields before it 3");
        assert_eq!(InMemory::new().input("x", [2], Vec::<f32>::new()), Err(DataError::Empty));
    }
}
