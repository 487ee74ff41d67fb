//! What a plan must know of kernels. `exec` implements this; `plan` may not see `exec`.

use plimsoll_graph::{OpKind, TensorType};
use plimsoll_trace::Bytes;
use std::fmt::Debug;

/// What running an op takes beyond its inputs and outputs.
pub trait Kernels: Debug + Send + Sync {
    /// What they are called. Kernels of one name need the same scratch and share the same storage.
    fn name(&self) -> String;

    /// How much scratch the op's kernel needs.
    fn scratch(&self, kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> Bytes;

    /// Which outputs may share their storage with which inputs, as (input, output), if both have the same size and
    /// nobody reads the input later.
    fn in_place(&self, kind: &OpKind) -> &'static [(usize, usize)];
}

/// How many bytes a tensor takes.
pub fn bytes_of(tensor: &TensorType) -> Bytes {
    let bits = tensor.shape.elements() as u64 * tensor.element.bits();
    Bytes(bits.div_ceil(8))
}
