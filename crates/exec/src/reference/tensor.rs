//! A tensor of the reference interpreter: every element is a float64, whatever its type.

use plimsoll_graph::{Shape, TensorType};

/// A type and the elements, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Shape and element type.
    pub tensor: TensorType,
    /// The elements. Integers are exact; float16 and bfloat16 are rounded by the op that makes them.
    pub data: Vec<f64>,
}

impl Tensor {
    /// A tensor from its parts.
    ///
    /// # Panics
    /// If the number of elements is not the shape's.
    pub fn new(tensor: TensorType, data: Vec<f64>) -> Self {
        assert_eq!(tensor.shape.elements(), data.len(), "{tensor}");
        Self { tensor, data }
    }

    /// A float32 tensor.
    pub fn f32(shape: impl Into<Shape>, data: impl Into<Vec<f64>>) -> Self {
        Self::new(TensorType::f32(shape), data.into())
    }

    /// An int32 tensor.
    pub fn i32(shape: impl Into<Shape>, data: impl Into<Vec<f64>>) -> Self {
        Self::new(TensorType::i32(shape), data.into())
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.tensor.shape
    }

    /// The extents of a tensor of rank `N`.
    ///
    /// # Panics
    /// If the rank is another.
    pub fn extents<const N: usize>(&self) -> [usize; N] {
        self.shape().extents().try_into().expect("the shape rule has checked the rank")
    }

    /// The element at an index of as many coordinates as there are axes.
    pub fn at<const N: usize>(&self, index: [usize; N]) -> f64 {
        self.data[flat(self.shape(), &index)]
    }
}

/// The position of an index in row-major order.
pub fn flat(shape: &Shape, index: &[usize]) -> usize {
    assert_eq!(shape.rank(), index.len());
    index.iter().zip(shape.extents()).fold(0, |position, (&i, &extent)| {
        debug_assert!(i < extent, "index {index:?} of {shape}");
        position * extent + i
    })
}

/// All indices of a shape, in row-major order.
pub fn indices(shape: &Shape) -> impl Iterator<Item = Vec<usize>> + use<> {
    let extents = shape.extents().to_vec();
    (0..shape.elements()).map(move |mut position| {
        let mut index = vec![0; extents.len()];
        for (i, &extent) in index.iter_mut().zip(&extents).rev() {
            *i = position % extent;
            position /= extent;
        }
        index
    })
}
