//! The CPU kernel of moving averages. They are a few thousand numbers, so one thread does it.

use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::MovingAverage;

impl CpuKernel for MovingAverage {
    /// The result always takes the place of the first input; the graph says so itself.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([_, batch, gate @ ..], [moving]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        if gate.first().is_some_and(|gate| gate.f32()[0] == 0.0) {
            return Ok(());
        }
        let share = 1.0 - self.momentum;
        for (moving, batch) in moving.f32().iter_mut().zip(batch.f32()) {
            *moving = *moving * self.momentum + batch * share;
        }
        Ok(())
    }
}
