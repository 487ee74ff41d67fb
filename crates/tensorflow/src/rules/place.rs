//! When the gradients of a layer's kernel and bias are computed, which depends on where in the model it stands.
//!
//! Grappler sorts a graph by levels and, when it deletes nodes, moves the last ones of its list into the gaps. So the
//! layers nearest the input have another order than all others: theirs is bias, kernel, input; everywhere else it is
//! the input's gradient first, and the others wait on the stack. Evidence: the optimized graphs of chains of 3 to 32
//! convolutions with SGD and Adam, and the order of allocations in the traces of VGG16, LeNet and ResNet-50.

use crate::lowering::Lowering;
use crate::setup::Mode;
use plimsoll_train::Optimizer;

/// The position of a product with a kernel, counted from the input.
#[derive(Clone, Copy, Debug)]
pub struct Place(usize);

impl Place {
    /// The next position.
    pub fn of_next(at: &mut Lowering<'_>) -> Self {
        at.products += 1;
        Self(at.products - 1)
    }

    /// Adds the gradients of bias, kernel and input in the order of this place. The executor runs the last first.
    pub fn gradients<'a>(
        self,
        at: &mut Lowering<'a>,
        of_kernel: impl FnOnce(&mut Lowering<'a>),
        of_input: impl FnOnce(&mut Lowering<'a>),
    ) {
        if at.setup.mode == Mode::Eager {
            bias_gradient(at);
            of_input(at);
            of_kernel(at);
        } else if self.is_near_input(at) {
            of_input(at);
            of_kernel(at);
            bias_gradient(at);
        } else {
            at.deferring = true;
            bias_gradient(at);
            of_kernel(at);
            at.deferring = false;
            of_input(at);
        }
    }

    /// The output layer, whose gradient comes from the loss, is near only with plain gradient descent (MLP, LeNet: with
    /// Adam its kernel's gradient comes last).
    fn is_near_input(self, at: &Lowering<'_>) -> bool {
        let is_output = self.0 + 1 == at.products;
        self.0 <= at.variant.nearest && (!is_output || at.setup.optimizer == Optimizer::Sgd)
    }
}

/// The gradient of a bias that waits for the product it follows.
pub fn bias_gradient(at: &mut Lowering<'_>) {
    if let Some((bias, dy)) = at.waiting_bias.take() {
        let gradient = at.fresh("BiasAddGrad", &[dy], at.bytes(bias));
        at.give(bias, gradient);
    }
}
