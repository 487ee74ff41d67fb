//! Optimizers: the kernels of Keras 3's update steps, variable by variable.
//!
//! Evidence, from the trace of an MLP with Adam: `Square` takes a tensor as large as the gradient beside it, `Sqrt` and `Mul` take two after
//! the gradient has gone, and `AssignSub` copies a variable that the backward pass has still to read.

use crate::lowering::{Call, Lowering};
use crate::program::{Assignment, KernelId, Owner, TensorId};
use plimsoll_graph::{Role, ValueId};
use plimsoll_train::Optimizer;

/// Adds the updates of all parameters. A graph updates each as soon as its gradient exists; Python gets all gradients first, and holds them until the step ends.
pub fn update(at: &mut Lowering<'_>) {
    let parameters: Vec<ValueId> = at.graph.with_role(Role::Parameter).filter(|&id| is_variable(at, id)).collect();
    let mut gradients = Vec::new();
    for &parameter in &parameters {
        at.layer = at.graph.value(parameter).layer;
        gradients.push(at.gradient_of(parameter));
    }
    for (&parameter, &gradient) in parameters.iter().zip(&gradients) {
        at.layer = at.graph.value(parameter).layer;
        let slots: Vec<TensorId> =
            at.setup.optimizer.slots().iter().map(|slot| add_slot(at, parameter, slot)).collect();
        if let Some(gradient) = gradient {
            step(at, at.tensor(parameter), gradient, &slots);
        }
    }
    if at.is_eager() {
        let held: Vec<TensorId> = gradients.into_iter().flatten().collect();
        at.fresh("Return", &held, 0);
    }
}

fn is_variable(at: &Lowering<'_>, id: ValueId) -> bool {
    at.program.tensor(at.tensor(id)).owner == Owner::Variable
}

fn add_slot(at: &mut Lowering<'_>, parameter: ValueId, slot: &str) -> TensorId {
    let name = at.setup.optimizer.slot_name(slot, &at.graph.value(parameter).name);
    let bytes = at.elements(parameter) * 4;
    at.owned(Owner::Variable, Role::OptimizerState, at.layer, &name, bytes)
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

fn adam(at: &mut Lowering<'_>, variable: TensorId, gradient: TensorId, slots: &[TensorId], before: &[KernelId]) {
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

fn after(at: &mut Lowering<'_>, name: &'static str, reads: &[TensorId], bytes: u64, before: KernelId) -> TensorId {
    at.call(Call { name, reads, bytes, after: &[before], ..Call::default() })
}

/// A variable times a number. It waits for no gradient, so the executor runs it before the first layer, for all variables: momentum costs a second copy
/// of its slots while a step runs (ResNet-50 with momentum: 80 MB over what weights, slots and activations explain).
fn early(at: &mut Lowering<'_>, bytes: u64) -> TensorId {
    at.call(Call { name: "Mul", bytes, early: true, ..Call::default() })
}
