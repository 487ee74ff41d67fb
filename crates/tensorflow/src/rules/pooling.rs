//! Pooling and reductions.

use crate::lowering::{Backward, Call, Lowering};
use plimsoll_graph::Op;
use plimsoll_graph::op::{Pool, Reduction};

/// Max pooling keeps image and result. On the CPU its gradient finds the maxima again, in the place of the result if
/// nobody else reads it, with their positions as int64, and its own result takes the image's place (a small
/// convolutional network: `MaxPoolGrad` takes 8 bytes for every element of the result). Average pooling keeps nothing.
pub fn pool2d(at: &mut Lowering<'_>, op: &Op, pool: Pool) -> Backward {
    let [x, y] = [op.inputs[0], op.outputs[0]];
    let image = at.tensor(x);
    let name = if pool == Pool::Max { "MaxPool" } else { "AvgPool" };
    let result = at.fresh(name, &[image], at.bytes(y));
    at.set(y, result);
    Box::new(move |at, dy| {
        let gradient = match pool {
            Pool::Max => {
                let again = at.reuse("MaxPool", &[result, dy], at.bytes(y));
                let positions = if at.on_cpu() { vec![at.elements(y) * 8] } else { Vec::new() };
                let (reads, bytes) = ([image, again, dy], at.bytes(x));
                let call = Call {
                    name: "MaxPoolGrad",
                    reads: &reads,
                    bytes,
                    scratch: &positions,
                    ..Call::default()
                };
                at.call(Call { in_place: true, ..call })
            }
            Pool::Average => at.fresh("AvgPoolGrad", &[dy], at.bytes(x)),
        };
        at.give(x, gradient);
    })
}

/// A sum or mean keeps nothing; its gradient is stretched again. A maximum keeps argument and result, and marks where
/// they are equal.
pub fn reduce(at: &mut Lowering<'_>, op: &Op, reduction: Reduction) -> Backward {
    let [x, y] = [op.inputs[0], op.outputs[0]];
    let argument = at.tensor(x);
    let result = at.fresh("Mean", &[argument], at.bytes(y));
    at.set(y, result);
    Box::new(move |at, dy| {
        at.read_shapes(&[argument], dy);
        let gradient = match reduction {
            Reduction::Sum => at.fresh("BroadcastTo", &[dy], at.bytes(x)),
            Reduction::Mean => {
                let tiled = at.fresh("Tile", &[dy], at.bytes(x));
                at.reuse("RealDiv", &[tiled], at.bytes(x))
            }
            Reduction::Product => {
                let before = at.fresh("Cumprod", &[argument, dy], at.bytes(x));
                let behind = at.fresh("Cumprod", &[argument, dy], at.bytes(x));
                let others = at.reuse("Mul", &[before, behind], at.bytes(x));
                at.reuse("Mul", &[others, dy], at.bytes(x))
            }
            Reduction::Max => {
                let equal = at.fresh("Equal", &[argument, result], at.elements(x));
                let ones = at.fresh("Cast", &[equal], at.bytes(x));
                let share = at.fresh("RealDiv", &[ones, dy], at.bytes(x));
                at.reuse("Mul", &[share, dy], at.bytes(x))
            }
        };
        at.give(x, gradient);
    })
}
