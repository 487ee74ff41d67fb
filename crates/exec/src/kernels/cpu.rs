//! The CPU kernels and their tables: what runs each op, how much scratch it takes, and which outputs may take the place
//! of which inputs.
//!
//! Kernels are parallel over the rayon pool they are called in. They cut their work by sizes that depend on shapes
//! alone, never on the number of threads, so results are the same bits for any pool.

mod all_finite;
mod arg_sort;
mod attention;
mod batch_norm;
mod bias_add;
mod binary;
mod broadcast;
mod bucket;
mod cast;
mod concat;
mod constant;
mod conv2d;
mod copying;
mod cross_entropy;
mod cumulate;
mod depthwise_conv2d;
mod dropout;
mod elementwise;
mod embedding;
mod exponential;
mod fill;
mod gemm;
mod gru;
mod layer_norm;
mod lstm;
mod matmul;
mod moving_average;
mod not_equal;
mod one_hot;
mod pad;
mod patches;
mod pool2d;
mod random_normal;
mod random_uniform;
mod reduce;
mod reshape;
mod resize2d;
mod runs;
mod select;
mod slice;
mod softmax;
mod take_along;
mod transpose;
mod transposed_conv2d;
mod unary;
mod update;
mod upsample2d;
mod warp;
mod wide;
mod workers;

use super::{Call, KernelError};
use plimsoll_graph::{OpKind, TensorType, of_op};

/// Takes what kernels keep on each thread of a pool, so that no step has to.
pub(crate) fn prepare_thread() {
    gemm::prepare_thread();
}

/// Runs one op.
pub fn run(kind: &OpKind, call: Call<'_>) -> Result<(), KernelError> {
    of_op!(kind, op => op.run(call))
}

/// How many floats of scratch [`run`] needs for an op where so many threads work at a time.
pub fn scratch(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType], lanes: usize) -> usize {
    let types = Types { inputs, outputs, lanes };
    of_op!(kind, op => op.scratch(types))
}

/// Which outputs may share their storage with which inputs, as (input, output), if both have the same size in bytes and
/// nobody reads the input later. Each pair on its own is allowed; a kernel lists two pairs with different outputs only
/// if both may happen together.
pub fn in_place(kind: &OpKind) -> &'static [(usize, usize)] {
    fn listed<K: CpuKernel>(_: &K) -> &'static [(usize, usize)] {
        K::IN_PLACE
    }
    of_op!(kind, op => listed(op))
}

/// What the CPU does for an op: one implementation in the file of the op's name. An op without one does not compile.
trait CpuKernel {
    /// Which outputs may take the place of which inputs.
    const IN_PLACE: &'static [(usize, usize)] = &[];

    /// Computes the outputs.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError>;

    /// How many floats of scratch that takes.
    fn scratch(&self, _: Types<'_>) -> usize {
        0
    }
}

/// What a scratch size may depend on.
#[derive(Clone, Copy)]
struct Types<'a> {
    inputs: &'a [TensorType],
    outputs: &'a [TensorType],
    /// How many threads have a part of their own.
    lanes: usize,
}
