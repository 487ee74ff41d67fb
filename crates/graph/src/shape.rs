//! Shapes, tensor types, and the error every shape rule gives.

use crate::ElementType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Index;
use std::sync::Arc;

/// The largest number of elements a value may have. Larger ones are typing errors, and
/// refusing them here keeps every later product of sizes far from overflow.
const MAX_ELEMENTS: u64 = 1 << 44;

/// The extent of each axis; `[]` is a scalar. Images are NHWC, sequences are batch, time, features. Copies share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<usize>", into = "Vec<usize>")]
pub struct Shape(Arc<[usize]>);

/// A shape and an element type: what a shape rule maps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TensorType {
    /// The extent of each axis.
    pub shape: Shape,
    /// What one element is.
    pub element: ElementType,
}

/// An op that cannot be applied to its inputs, with the evidence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{op}({}) is impossible: {problem}", list(.inputs))]
pub struct ShapeError {
    /// The op's name.
    pub op: String,
    /// The types it was given.
    pub inputs: Vec<TensorType>,
    /// What is wrong, in a sentence.
    pub problem: String,
}

fn list(types: &[TensorType]) -> String {
    types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ")
}

impl Shape {
    /// A shape from its extents.
    pub fn new(extents: impl Into<Vec<usize>>) -> Self {
        Self(extents.into().into())
    }

    /// The shape of a single number.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// The extents, outermost first.
    pub fn extents(&self) -> &[usize] {
        &self.0
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The extent of the innermost axis; 1 for a scalar.
    pub fn last(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// The product of all extents but the last: how many rows the tensor has.
    pub fn rows(&self) -> usize {
        self.0.split_last().map_or(1, |(_, outer)| outer.iter().product())
    }

    /// How many elements apart neighbours along each axis lie, in row-major order.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.rank()];
        for axis in (0..self.rank().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * self.0[axis + 1];
        }
        strides
    }

    /// The shape both sides of an elementwise op are stretched to, as NumPy does it.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let extent = |shape: &Shape, axis: usize| {
            (axis + shape.rank()).checked_sub(rank).map_or(1, |own_axis| shape.0[own_axis])
        };
        (0..rank)
            .map(|axis| match (extent(self, axis), extent(other, axis)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(Shape::new)
    }

    /// Whether the number of elements is one that later arithmetic can work with.
    pub fn is_reasonable(&self) -> bool {
        let product = self.0.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent as u64));
        product.is_some_and(|elements| elements <= MAX_ELEMENTS)
    }
}

impl Index<usize> for Shape {
    type Output = usize;

    fn index(&self, axis: usize) -> &usize {
        &self.0[axis]
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(extents: [usize; N]) -> Self {
        Self(extents.into())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(extents: Vec<usize>) -> Self {
        Self::new(extents)
    }
}

impl From<Shape> for Vec<usize> {
    fn from(shape: Shape) -> Self {
        shape.0.to_vec()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.pad(&format!("[{}]", extents.join(",")))
    }
}

impl TensorType {
    /// A type from its parts.
    pub fn new(element: ElementType, shape: impl Into<Shape>) -> Self {
        Self { shape: shape.into(), element }
    }

    /// A float32 tensor.
    pub fn f32(shape: impl Into<Shape>) -> Self {
        Self::new(ElementType::F32, shape)
    }

    /// An int32 tensor.
    pub fn i32(shape: impl Into<Shape>) -> Self {
        Self::new(ElementType::I32, shape)
    }

    /// The same element type with another shape.
    pub fn reshaped(&self, shape: impl Into<Shape>) -> Self {
        Self::new(self.element, shape)
    }

    /// Reads the form that `Display` prints, such as `f32[8,224,224,3]`.
    pub fn parse(text: &str) -> Option<Self> {
        let (element, rest) = text.split_once('[')?;
        let extents = rest.strip_suffix(']')?;
        let shape = match extents {
            "" => Some(Vec::new()),
            _ => extents.split(',').map(|extent| extent.parse().ok()).collect(),
        };
        Some(Self::new(ElementType::parse(element)?, Shape::new(shape?)))
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.element, self.shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_numpy() {
        let broadcast = |a: &[usize], b: &[usize]| Shape::new(a).broadcast(&Shape::new(b));
        assert_eq!(broadcast(&[8, 1, 3], &[4, 1]), Some(Shape::new([8, 4, 3])));
        assert_eq!(broadcast(&[], &[2, 2]), Some(Shape::new([2, 2])));
        assert_eq!(broadcast(&[2], &[3]), None);
    }

    #[test]
    fn types_round_trip_through_text() {
        for text in ["f32[]", "i32[7]", "bf16[2,3,4]"] {
            assert_eq!(TensorType::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(TensorType::parse("f32[2,]"), None);
        assert_eq!(TensorType::parse("f99[2]"), None);
    }

    #[test]
    fn absurd_shapes_are_seen() {
        assert!(Shape::new([1 << 20, 1 << 20]).is_reasonable());
        assert!(!Shape::new([usize::MAX, 2]).is_reasonable());
        assert!(!Shape::new([1 << 30, 1 << 30]).is_reasonable());
    }

    #[test]
    fn strides_are_row_major() {
        assert_eq!(Shape::new([2, 3, 4]).strides(), [12, 4, 1]);
        assert_eq!(Shape::scalar().strides(), [0usize; 0]);
    }
}
