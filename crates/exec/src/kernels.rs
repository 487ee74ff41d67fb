//! Kernels and how they are called.

mod call;
pub mod cpu;

pub use call::{Call, Input, Output, Scratch};

use plimsoll_graph::{OpKind, TensorType};
use plimsoll_plan::Kernels;
use plimsoll_trace::Bytes;

/// The CPU kernels, as a plan sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuKernels {
    /// How many threads have scratch of their own; no more than these work on an op that needs some.
    pub lanes: usize,
}

impl Kernels for CpuKernels {
    fn name(&self) -> String {
        format!("cpu, {} threads", self.lanes)
    }

    fn scratch(&self, kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> Bytes {
        Bytes(4 * cpu::scratch(kind, inputs, outputs, self.lanes) as u64)
    }

    fn in_place(&self, kind: &OpKind) -> &'static [(usize, usize)] {
        cpu::in_place(kind)
    }
}

/// What a kernel finds wrong with the contents of its inputs; everything else is checked before the first step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KernelError {
    /// A label or id that is outside the table it points into.
    #[error("{op} was given the index {index}, but there are only {limit}")]
    IndexOutOfRange {
        /// The op's name.
        op: &'static str,
        /// The offending index.
        index: i64,
        /// How many there are.
        limit: usize,
    },
}
