//! Layers that compute in float32 in a model under a mixed policy: what they read is cast first, and the gradients they
//! give are cast back (a segmentation model in float16: `Cast_1`, as large as four of its images in half).

use crate::lowering::{Backward, Lowering};
use crate::program::TensorId;
use crate::rules;
use plimsoll_graph::{Op, ValueId};

/// The op's kernels in float32.
pub fn forward(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let narrow: Vec<(ValueId, TensorId)> = op
        .inputs
        .iter()
        .filter(|&&input| is_activation(at, input) && !at.is_wide(at.graph.value(input).layer))
        .map(|&input| (input, at.tensor(input)))
        .collect();
    for &(input, tensor) in &narrow {
        let wide = at.fresh("Cast", &[tensor], at.elements(input) * 4);
        at.set(input, wide);
    }
    at.widening = true;
    let backward = rules::forward(at, op);
    at.widening = false;
    narrow.iter().for_each(|&(input, tensor)| at.set(input, tensor));
    Box::new(move |at, dy| {
        at.widening = true;
        backward(at, dy);
        at.widening = false;
        narrow.into_iter().for_each(|(input, _)| give_narrow(at, input));
    })
}

/// The gradient that was given last, in half.
fn give_narrow(at: &mut Lowering<'_>, input: ValueId) {
    let bytes = at.bytes(input);
    if let Some(gradient) = at.gradients_mut(input).pop() {
        let is_wide = at.program.tensor(gradient).bytes > bytes;
        let gradient = if is_wide { at.fresh("Cast", &[gradient], bytes) } else { gradient };
        at.give(input, gradient);
    }
}

fn is_activation(at: &Lowering<'_>, value: ValueId) -> bool {
    let tensor = at.program.tensor(at.tensor(value));
    !tensor.owner.is_variable() && at.graph.tensor(value).element.is_float()
}
