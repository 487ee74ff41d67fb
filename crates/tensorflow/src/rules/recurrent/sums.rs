//! The sums of the kernels' gradients over the iterations of a loop.

use super::{Layer, Step};
use crate::lowering::{Call, Lowering};
use crate::program::{KernelId, TensorId};

/// The gradients of the kernels, which a graph adds up step by step and a tape at the end.
pub struct Sums {
    layer: Layer,
    kernel: Vec<TensorId>,
    recurrent: Vec<TensorId>,
    bias: Vec<TensorId>,
    /// The additions of the last step.
    pub ends: Vec<KernelId>,
    /// What the kernel's gradients of the last iterations read; they come after all those of the recurrent kernel.
    late: Vec<[TensorId; 2]>,
}

impl Sums {
    /// Sums that begin with zeros.
    pub fn new(at: &mut Lowering<'_>, layer: Layer) -> Self {
        let [kernel, recurrent] = [layer.kernel, layer.recurrent].map(|value| {
            let bytes = at.elements(value) * 4;
            vec![at.call(Call { name: "Zeros", bytes, early: !at.variant.late_zeros, ..Call::default() })]
        });
        Self { layer, kernel, recurrent, bias: Vec::new(), ends: Vec::new(), late: Vec::new() }
    }

    /// Adds the gradients of a step whose gates have this gradient.
    pub fn add(&mut self, at: &mut Lowering<'_>, step: &Step, joined: TensorId) {
        if let Some(bias) = self.layer.bias {
            self.bias.push(at.fresh("BiasAddGrad", &[joined], at.bytes(bias)));
        }
        self.ends.clear();
        match step.is_late && !self.layer.waits(at) {
            true => self.late.push([step.input, joined]),
            false => self.add_kernel(at, [step.input, joined], &[]),
        }
        let bytes = at.bytes(self.layer.recurrent);
        let gradient = at.fresh("MatMul_1", &[step.previous, joined], bytes);
        let gradient = widened(at, gradient, at.elements(self.layer.recurrent) * 4);
        self.ends.extend(push(at, &mut self.recurrent, gradient));
    }

    /// Adds what is late and gives all sums.
    pub fn give(mut self, at: &mut Lowering<'_>) {
        let after = self.ends.clone();
        for reads in std::mem::take(&mut self.late) {
            self.add_kernel(at, reads, &after);
        }
        self.kernel.into_iter().for_each(|gradient| at.give(self.layer.kernel, gradient));
        self.recurrent.into_iter().for_each(|gradient| at.give(self.layer.recurrent, gradient));
        if let Some(bias) = self.layer.bias {
            self.bias.into_iter().for_each(|gradient| at.give(bias, gradient));
        }
    }

    fn add_kernel(&mut self, at: &mut Lowering<'_>, reads: [TensorId; 2], after: &[KernelId]) {
        let bytes = at.bytes(self.layer.kernel);
        let gradient = at.call(Call { name: "MatMul_1", reads: &reads, bytes, after, ..Call::default() });
        let gradient = widened(at, gradient, at.elements(self.layer.kernel) * 4);
        self.ends.extend(push(at, &mut self.kernel, gradient));
    }
}

/// Gradients are added up in float32.
fn widened(at: &mut Lowering<'_>, gradient: TensorId, bytes: u64) -> TensorId {
    let is_wide = at.program.tensor(gradient).bytes == bytes;
    if is_wide { gradient } else { at.fresh("Cast", &[gradient], bytes) }
}

/// Adds a gradient to a sum: at once in a graph, at the end by a tape.
fn push(at: &mut Lowering<'_>, sums: &mut Vec<TensorId>, gradient: TensorId) -> Option<KernelId> {
    sums.push(gradient);
    if at.is_eager() {
        return None;
    }
    let bytes = at.program.tensor(gradient).bytes;
    *sums = vec![at.reuse("AddN", sums, bytes)];
    Some(at.last())
}
