//! Fully connected layer.

use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::Shape;
use plimsoll_graph::op::MatMul;
use serde::{Deserialize, Serialize};

/// `activation(x kernel + bias)` on the last axis, whatever the rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dense {
    /// The extent of the result's last axis.
    pub units: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

impl Dense {
    /// A linear layer with a bias.
    pub fn new(units: usize) -> Self {
        let kernel_initializer = Initializer::default();
        Self { units, activation: Activation::Linear, use_bias: true, kernel_initializer }
    }

    /// The same with an activation.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// The same with rectified results.
    pub fn relu(self) -> Self {
        self.activation(Activation::Relu)
    }

    /// The same with probabilities as results.
    pub fn softmax(self) -> Self {
        self.activation(Activation::Softmax)
    }

    /// The same with another start of the kernel.
    pub fn kernel_initializer(self, kernel_initializer: Initializer) -> Self {
        Self { kernel_initializer, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "dense"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let shape = Shape::new([at.features(x.value)?, self.units]);
        let init = self.kernel_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let mut y = at.op(MatMul::default(), &[x.value, kernel])?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(x.with(self.activation.apply(at, y)?))
    }
}
