//! The CPU kernel of classes as vectors.

use super::elementwise::by_rows;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::OneHot;

impl CpuKernel for OneHot {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([ids], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (ids, depth) = (ids.i32(), self.depth);
        by_rows(y, depth, |start, y| {
            y.fill(0.0);
            let place = usize::try_from(ids[start / depth]).ok();
            if let Some(y) = place.and_then(|place| y.get_mut(place)) {
                *y = 1.0;
            }
        });
        Ok(())
    }
}
