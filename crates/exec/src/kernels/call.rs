//! How a kernel sees memory: read-only inputs, writable outputs, and scratch.
//!
//! Invariant: the outputs and the scratch of one call overlap nothing else of that call, with one exception: an input
//! that an output takes the place of. Such an input is marked, cannot be read through this interface, and the kernel
//! finds its contents in the output.

#![allow(unsafe_code)]

use plimsoll_graph::{ElementType, Shape, TensorType};

/// Everything one run of a kernel may touch.
pub struct Call<'a> {
    /// What it reads.
    pub inputs: &'a [Input],
    /// What it writes; the contents before are undefined unless an input says otherwise.
    pub outputs: &'a mut [Output],
    /// Undefined before and after.
    pub scratch: &'a mut [f32],
}

/// A tensor that a kernel reads.
#[derive(Debug)]
pub struct Input {
    tensor: TensorType,
    start: *const u8,
    replaced_by: Option<usize>,
}

/// A tensor that a kernel writes.
#[derive(Debug)]
pub struct Output {
    tensor: TensorType,
    start: *mut u8,
}

/// Floats that a kernel may use for itself.
#[derive(Debug)]
pub struct Scratch {
    start: *mut f32,
    floats: usize,
}

// SAFETY: a view owns nothing and is tied to no thread; its constructor's caller promised that nobody else writes
// what it shows while a kernel runs, on whichever thread that is.
unsafe impl Send for Input {}
// SAFETY: as above.
unsafe impl Send for Output {}
// SAFETY: as above.
unsafe impl Send for Scratch {}

impl Input {
    /// A view of a tensor at an address; `replaced_by` is the output that takes its place, if any.
    ///
    /// # Safety
    /// Until the view is dropped, the address must be valid for reads of the whole tensor, aligned for its elements,
    /// and initialised when a kernel runs; and nothing but that output may write there while a kernel runs.
    pub unsafe fn new(tensor: TensorType, start: *const u8, replaced_by: Option<usize>) -> Self {
        Self { tensor, start, replaced_by }
    }

    /// Shape and element type.
    pub fn tensor(&self) -> &TensorType {
        &self.tensor
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.tensor.shape
    }

    /// The output that holds the contents of this input, if the kernel runs in place.
    pub fn replaced_by(&self) -> Option<usize> {
        self.replaced_by
    }

    /// The elements, which must be float32.
    pub fn f32(&self) -> &[f32] {
        self.elements(ElementType::F32)
    }

    /// The elements, which must be int32.
    pub fn i32(&self) -> &[i32] {
        self.elements(ElementType::I32)
    }

    /// The bits of the elements, which must be float16 or bfloat16.
    pub fn bits16(&self) -> &[u16] {
        let element = self.tensor.element;
        assert!(matches!(element, ElementType::F16 | ElementType::Bf16), "{element} has not 16 bits");
        self.elements(element)
    }

    fn elements<T>(&self, element: ElementType) -> &[T] {
        assert_eq!(self.tensor.element, element);
        assert_eq!(self.replaced_by, None, "the contents are in the output");
        // SAFETY: the constructor's caller promised a valid, aligned, initialised tensor of this type that nobody
        // writes, and `T` has the size of the element asserted above.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.tensor.shape.elements()) }
    }
}

impl Output {
    /// A view of a tensor at an address.
    ///
    /// # Safety
    /// Until the view is dropped, the address must be valid for reads and writes of the whole tensor and aligned for
    /// its elements, and while a kernel runs nothing else may touch it but inputs marked as replaced by it.
    pub unsafe fn new(tensor: TensorType, start: *mut u8) -> Self {
        Self { tensor, start }
    }

    /// Shape and element type.
    pub fn tensor(&self) -> &TensorType {
        &self.tensor
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.tensor.shape
    }

    /// The elements, which must be float32.
    pub fn f32(&mut self) -> &mut [f32] {
        self.elements(ElementType::F32)
    }

    /// The elements, which must be int32.
    pub fn i32(&mut self) -> &mut [i32] {
        self.elements(ElementType::I32)
    }

    /// The bits of the elements, which must be float16 or bfloat16.
    pub fn bits16(&mut self) -> &mut [u16] {
        let element = self.tensor.element;
        assert!(matches!(element, ElementType::F16 | ElementType::Bf16), "{element} has not 16 bits");
        self.elements(element)
    }

    fn elements<T>(&mut self, element: ElementType) -> &mut [T] {
        assert_eq!(self.tensor.element, element);
        // SAFETY: the constructor's caller promised a valid, aligned tensor that nothing else touches, any bits
        // are an element, and `T` has the size of the element asserted above.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.tensor.shape.elements()) }
    }
}

impl Scratch {
    /// A view of so many floats at an address.
    ///
    /// # Safety
    /// Until the view is dropped, the address must be valid for reads and writes of them all and aligned for them, and
    /// while a kernel runs nothing else may touch them.
    pub unsafe fn new(start: *mut u8, floats: usize) -> Self {
        Self { start: start.cast(), floats }
    }

    /// The floats.
    pub fn f32(&mut self) -> &mut [f32] {
        // SAFETY: the constructor's caller promised valid, aligned floats that nothing else touches, and any bits are
        // one.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.floats) }
    }
}
