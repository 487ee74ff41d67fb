//! Why a step stopped, in the words of the graph.

use crate::backend::Cause;
use crate::eager::Shortage;
use crate::kernels::KernelError;
use plimsoll_graph::{Graph, OpId, Source, ValueId};

/// Why a step stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A kernel refused its inputs.
    #[error("{layer}: {error}")]
    Kernel {
        /// The layer it belongs to.
        layer: String,
        /// What it found.
        error: KernelError,
    },
    /// A value that must be finite is not.
    #[error("{value} is not finite")]
    NotFinite {
        /// Its name.
        value: String,
        /// The layer it belongs to, or nothing.
        layer: String,
        /// The op that computed it, or nothing if it was given.
        op: String,
    },
    /// An eager step asked its allocator for more than there is.
    #[error(transparent)]
    OutOfMemory(Box<Shortage>),
}

impl StepError {
    /// What was found wrong at an op of a graph.
    pub(crate) fn new(graph: &Graph, op: OpId, cause: Cause) -> Self {
        match cause {
            Cause::NotFinite(value) => Self::not_finite(graph, value),
            Cause::Kernel(error) => {
                let op = graph.op(op);
                let layer = op.layer.map_or(op.kind.name(), |layer| graph.layer_name(layer));
                Self::Kernel { layer: layer.to_string(), error }
            }
        }
    }

    /// A value of a graph that is not finite.
    pub(crate) fn not_finite(graph: &Graph, id: ValueId) -> Self {
        let value = graph.value(id);
        let layer = value.layer.map_or("", |layer| graph.layer_name(layer)).to_string();
        let op = if let Source::Op(op) = value.source { graph.op(op).kind.name() } else { "" };
        Self::NotFinite { value: value.name.clone(), layer, op: op.to_string() }
    }
}
