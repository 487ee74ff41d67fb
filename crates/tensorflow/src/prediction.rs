//! Predictions: what a step takes in TensorFlow.

use crate::executor::{Order, execute};
use crate::lowering::lower;
use crate::setup::{Mode, Setup};
use plimsoll_graph::Graph;
use plimsoll_trace::{Bytes, Summary, Trace, summarize};

/// What TensorFlow would do with a model in one step.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Every allocation of a step; what lives across steps is taken first.
    pub trace: Trace,
    /// Its figures.
    pub summary: Summary,
}

/// Predicts a training step of the model whose forward graph this is.
pub fn predict(graph: &Graph, setup: &Setup) -> Prediction {
    let program = lower(graph, setup);
    let order = match setup.mode {
        Mode::Graph | Mode::Keras => Order::ReadyStack,
        Mode::Eager => Order::AsWritten,
    };
    let trace = execute(&program, order, &|layer| graph.layer_name(layer).to_string());
    let summary = summarize(&trace);
    Prediction { trace, summary }
}

impl Prediction {
    /// The most bytes that are live at once.
    pub fn live_peak(&self) -> Bytes {
        self.summary.floor
    }
}
