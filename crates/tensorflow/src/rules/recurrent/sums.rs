//! The sums of the kernels' gradients over the iterations of a loop.

use super::{Layer, Step};
use crate::lowering::{Call, Lowering};
use crate::program::{KernelId, TensorId};

/// The gradients of the kernels, which a graph adds up step by step and a tape at the end.
pub struct Sums {
    kernel: Vec<TensorId>,
    recurrent: Vec<TensorId>,
    bias: Vec<TensorId>,
    /// The additions of the last step.
    pub ends: Vec<KernelId>,
    /// Steps of the last iterations, whose kernel's gradients come after all those of the recurrent kernel.
    late: Vec<(TensorId, TensorId)>,
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

impl Sums {
    pub fn new(at: &mut Lowering<'_>, layer: Layer) -> Self {
        let zeros = [layer.kernel, layer.recurrent].map(|value| {
            let bytes = at.bytes(value);
            at.call(Call { name: "Zeros", bytes, early: true, ..Call::default() })
        });
        Self {
            kernel: vec![zeros[0]],
            recurrent: vec![zeros[1]],
            bias: Vec::new(),
            ends: Vec::new(),
            late: Vec::new(),
        }
    }

    pub fn add(&mut self, at: &mut Lowering<'_>, layer: Layer, step: &Step, joined: TensorId) {
        if let Some(bias) = layer.bias {
            self.bias.push(at.fresh("BiasAddGrad", &[joined], at.bytes(bias)));
        }
        self.ends.clear();
        if step.is_late {
            self.late.push((step.input, joined));
        } else {
            self.add_kernel(at, layer, [step.input, joined], &[]);
        }
        let gradient = at.fresh("MatMul_1", &[step.previous, joined], at.bytes(layer.recurrent));
        self.ends.extend(push(at, &mut self.recurrent, gradient));
    }

    fn add_kernel(&mut self, at: &mut Lowering<'_>, layer: Layer, reads: [TensorId; 2], after: &[KernelId]) {
        let bytes = at.bytes(layer.kernel);
        let gradient = at.call(Call { name: "MatMul_1", reads: &reads, bytes, after, ..Call::default() });
        self.ends.extend(push(at, &mut self.kernel, gradient));
    }

    pub fn finish(&mut self, at: &mut Lowering<'_>, layer: Layer) {
        let after = self.ends.clone();
        for (input, joined) in std::mem::take(&mut self.late) {
            self.add_kernel(at, layer, [input, joined], &after);
        }
    }

    pub fn give(self, at: &mut Lowering<'_>, layer: Layer) {
        self.kernel.into_iter().for_each(|gradient| at.give(layer.kernel, gradient));
        self.recurrent.into_iter().for_each(|gradient| at.give(layer.recurrent, gradient));
        if let Some(bias) = layer.bias {
            self.bias.into_iter().for_each(|gradient| at.give(bias, gradient));
        }
    }
}
