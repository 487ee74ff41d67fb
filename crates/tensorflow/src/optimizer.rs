//! Optimizers: the kernels of Keras 3's update steps, variable by variable.
//!
//! Evidence, from the trace of an MLP with Adam: `Square` takes a tensor as large as the gradient beside it, `Sqrt` and
//! `Mul` take two after the gradient has gone, and `AssignSub` copies a variable that the backward pass has still to
//! read.

mod others;

use crate::lowering::{Call, Lowering};
use crate::program::{Assignment, KernelId, Owner, Start, TensorId};
use plimsoll_graph::{Role, Shape, ValueId};
use plimsoll_train::{Descent, Optimizer, Precision, slot};

/// The largest constant that Grappler makes of a computation.
pub const LARGEST_CONSTANT: u64 = 10 << 20;

/// Adds the updates of all parameters. A graph updates each as soon as its gradient exists; Python gets all gradients
/// first, and holds them until the step ends.
pub fn update(at: &mut Lowering<'_>) {
    let parameters: Vec<ValueId> =
        at.graph.with_role(Role::Parameter).filter(|&id| is_variable(at, id)).collect();
    let gradients: Vec<Option<TensorId>> =
        parameters.iter().map(|&parameter| gradient(at, parameter)).collect();
    let finite = at.setup.precision == Precision::MixedFloat16;
    let checked = finite.then(|| check_all(at, &gradients));
    let mut updates = Vec::new();
    for (&parameter, &gradient) in parameters.iter().zip(&gradients) {
        at.layer = at.graph.value(parameter).layer;
        let slots = add_slots(at, parameter);
        let Some(gradient) = gradient else { continue };
        let gradient = checked.map_or(gradient, |checked| unscaled(at, gradient, checked));
        match at.setup.accumulate {
            0 | 1 => step(at, at.tensor(parameter), gradient, &slots),
            _ => accumulate(at, parameter, gradient),
        }
        updates.push(at.last());
    }
    if at.setup.accumulate > 1 {
        keep_zeros(at, &parameters);
    }
    if at.is_eager() || finite {
        let held: Vec<TensorId> = gradients.into_iter().flatten().collect();
        at.call(Call { name: "Return", reads: &held, after: &updates, ..Call::default() });
    }
}

/// A parameter's gradient in the type that variables have.
fn gradient(at: &mut Lowering<'_>, parameter: ValueId) -> Option<TensorId> {
    at.layer = at.graph.value(parameter).layer;
    let gradient = at.gradient_of(parameter)?;
    let halved = at.program.tensor(gradient).bytes == at.elements(parameter) * 2;
    Some(if halved { at.fresh("Cast", &[gradient], at.elements(parameter) * 4) } else { gradient })
}

/// A scaled loss: nothing is updated before all gradients are known to be finite, and the condition holds them while it
/// runs.
fn check_all(at: &mut Lowering<'_>, gradients: &[Option<TensorId>]) -> TensorId {
    let finite: Vec<TensorId> =
        gradients.iter().flatten().map(|&gradient| at.fresh("IsFinite", &[gradient], 1)).collect();
    at.fresh("All", &finite, 1)
}

fn unscaled(at: &mut Lowering<'_>, gradient: TensorId, checked: TensorId) -> TensorId {
    let bytes = at.program.tensor(gradient).bytes;
    at.fresh("Mul", &[gradient, checked], bytes)
}

/// A step that only adds its gradient to the accumulator, whose new contents take the gradient's place.
fn accumulate(at: &mut Lowering<'_>, parameter: ValueId, gradient: TensorId) {
    let bytes = at.elements(parameter) * 4;
    let name = format!("gradient_accumulator/{}", at.graph.value(parameter).name);
    let sum = at.owned(Owner::Variable(Start::Filled), Role::OptimizerState, at.layer, &name, bytes);
    let new = at.reuse("AddV2", &[gradient], bytes);
    at.assign("AssignVariableOp", &[new], &[], Assignment::Replace(sum, new));
}

/// The zeros that accumulators are reset to are constants of the graph, one for each shape, unless they are too large
/// to be folded (ResNet-50: 37.5 MB; an MLP with kernels of 12 and 64 MiB: none).
fn keep_zeros(at: &mut Lowering<'_>, parameters: &[ValueId]) {
    let mut shapes: Vec<_> = parameters.iter().map(|&id| &at.graph.tensor(id).shape).collect();
    shapes.sort_by_key(|shape| shape.extents().to_vec());
    shapes.dedup();
    for bytes in
        shapes.into_iter().map(|shape| shape.elements() as u64 * 4).filter(|&bytes| bytes <= LARGEST_CONSTANT)
    {
        at.owned(Owner::Variable(Start::Filled), Role::Workspace, None, "zeros", bytes);
    }
}

fn is_variable(at: &Lowering<'_>, id: ValueId) -> bool {
    at.program.tensor(at.tensor(id)).owner.is_variable()
}

/// The slots of a parameter. Nadam's product is one number for all, which is no matter.
fn add_slots(at: &mut Lowering<'_>, parameter: ValueId) -> Vec<TensorId> {
    let value = at.graph.value(parameter);
    let (optimizer, shape) = (at.setup.optimizer, value.tensor.shape.clone());
    let follow = optimizer.follow(&shape, Descent::from(optimizer).left_to_adam(&value.name));
    let shapes = follow.rule.slots(&shape).unwrap_or_default();
    let named = follow.slots.iter().copied().zip(shapes).collect::<Vec<_>>();
    let moves = matches!(optimizer, Optimizer::Muon(_)) && named.is_empty();
    let name = value.name.clone();
    let mut add = |slot: &str, shape: &Shape| {
        let name = format!("{}/{name}", optimizer.slot_name(slot));
        let bytes = shape.elements() as u64 * 4;
        at.owned(Owner::Variable(Start::Filled), Role::OptimizerState, at.layer, &name, bytes)
    };
    let motion = moves.then(|| add(slot::MOTION, &shape));
    named.iter().map(|(slot, shape)| add(slot, shape)).chain(motion).collect()
}

/// One variable's update. What reads a variable after its assignment waits for that kernel instead of a tensor.
fn step(at: &mut Lowering<'_>, variable: TensorId, gradient: TensorId, slots: &[TensorId]) {
    let bytes = at.program.tensor(variable).bytes;
    match at.setup.optimizer {
        Optimizer::Sgd => {
            // Rows of an embedding are fewer than its table has.
            let scaled = at.reuse("Mul", &[gradient], at.program.tensor(gradient).bytes);
            at.assign("AssignSubVariableOp", &[scaled], &[], Assignment::Change(variable));
        }
        Optimizer::Momentum { .. } => {
            motion(at, slots[0], gradient, bytes);
            let moved = at.last();
            at.assign("AssignAddVariableOp", &[], &[moved], Assignment::Change(variable));
        }
        Optimizer::Nesterov { .. } => {
            let scaled = motion(at, slots[0], gradient, bytes);
            let moved = at.last();
            let ahead = after(at, "Mul", &[], bytes, moved);
            let step = at.reuse("Sub", &[ahead, scaled], bytes);
            at.assign("AssignAddVariableOp", &[step], &[], Assignment::Change(variable));
        }
        Optimizer::RmsProp { momentum, centered, .. } if momentum > 0.0 || centered => {
            others::step(at, variable, gradient, slots);
        }
        Optimizer::RmsProp { .. } => {
            let square = at.fresh("Square", &[gradient], bytes);
            let share = at.reuse("Mul", &[square], bytes);
            let kept = early(at, bytes);
            let mean = at.reuse("AddV2", &[kept, share], bytes);
            at.assign("AssignVariableOp", &[mean], &[], Assignment::Replace(slots[0], mean));
            let assigned = at.last();
            let sum = after(at, "AddV2", &[], bytes, assigned);
            let root = at.reuse("Sqrt", &[sum], bytes);
            let scaled = at.reuse("Mul", &[gradient], bytes);
            let step = at.reuse("RealDiv", &[scaled, root], bytes);
            at.assign("AssignSubVariableOp", &[step], &[], Assignment::Change(variable));
        }
        Optimizer::Adam { .. } => adam(at, variable, gradient, slots, &[]),
        Optimizer::Nadam { .. }
        | Optimizer::Adamax { .. }
        | Optimizer::Adagrad { .. }
        | Optimizer::Adadelta { .. }
        | Optimizer::Ftrl { .. }
        | Optimizer::Lion { .. }
        | Optimizer::Adafactor { .. }
        | Optimizer::Lamb { .. }
        | Optimizer::Muon(_)
        | Optimizer::ScheduleFree { .. } => others::step(at, variable, gradient, slots),
        Optimizer::AdamW { .. } => {
            let decay = early(at, bytes);
            at.assign("AssignSubVariableOp", &[decay], &[], Assignment::Change(variable));
            let decayed = at.last();
            adam(at, variable, gradient, slots, &[decayed]);
        }
    }
}

/// The new motion of momentum; gives the scaled gradient.
fn motion(at: &mut Lowering<'_>, slot: TensorId, gradient: TensorId, bytes: u64) -> TensorId {
    let kept = early(at, bytes);
    let scaled = at.reuse("Mul", &[gradient], bytes);
    let motion = at.reuse("Sub", &[kept, scaled], bytes);
    at.assign("AssignVariableOp", &[motion], &[], Assignment::Replace(slot, motion));
    scaled
}

fn adam(
    at: &mut Lowering<'_>,
    variable: TensorId,
    gradient: TensorId,
    slots: &[TensorId],
    before: &[KernelId],
) {
    let bytes = at.program.tensor(variable).bytes;
    let difference = at.reuse("Sub", &[gradient], bytes);
    let share = at.reuse("Mul", &[difference], bytes);
    at.assign("AssignAddVariableOp", &[share], &[], Assignment::Change(slots[0]));
    let mean = at.last();
    let square = at.fresh("Square", &[gradient], bytes);
    let difference = at.reuse("Sub", &[square], bytes);
    let share = at.reuse("Mul", &[difference], bytes);
    at.assign("AssignAddVariableOp", &[share], &[], Assignment::Change(slots[1]));
    let variance = at.last();
    let scaled = after(at, "Mul", &[], bytes, mean);
    let root = after(at, "Sqrt", &[], bytes, variance);
    let root = at.reuse("AddV2", &[root], bytes);
    let step = at.reuse("RealDiv", &[scaled, root], bytes);
    at.assign("AssignSubVariableOp", &[step], before, Assignment::Change(variable));
}

fn after(
    at: &mut Lowering<'_>,
    name: &'static str,
    reads: &[TensorId],
    bytes: u64,
    before: KernelId,
) -> TensorId {
    at.call(Call { name, reads, bytes, after: &[before], ..Call::default() })
}

/// A variable times a number. It waits for no gradient, so the executor runs it before the first layer, for all
/// variables: momentum costs a second copy of its slots while a step runs (ResNet-50 with momentum: 80 MB over what
/// weights, slots and activations explain).
fn early(at: &mut Lowering<'_>, bytes: u64) -> TensorId {
    at.call(Call { name: "Mul", bytes, early: true, ..Call::default() })
}
