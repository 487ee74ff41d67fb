//! Optimizers whose kernels were read from Keras's source and not compared with a trace: each assignment to a variable
//! is what is computed for it, in tensors as large as the variable that take each other's place where TensorFlow lets
//! them.

use super::{after, early};
use crate::lowering::Lowering;
use crate::program::{Assignment, KernelId, TensorId};
use plimsoll_train::Optimizer;

/// One variable's update.
pub(super) fn step(at: &mut Lowering<'_>, variable: TensorId, gradient: TensorId, slots: &[TensorId]) {
    let bytes = at.program.tensor(variable).bytes;
    let mut adding = Adding { at, gradient, bytes };
    match adding.at.setup.optimizer {
        Optimizer::Nadam { .. } | Optimizer::Lamb { .. } => {
            let (m, v) = (adding.mean(slots[0]), adding.mean_square(slots[1]));
            let (mean, own) = (after(adding.at, "Mul", &[], bytes, m), adding.of_gradient("Mul"));
            let sum = adding.at.reuse("AddV2", &[mean, own], bytes);
            let root = adding.root(v);
            adding.subtract(variable, &[sum, root]);
        }
        Optimizer::Adamax { .. } => {
            let m = adding.mean(slots[0]);
            let (kept, size) = (early(adding.at, bytes), adding.of_gradient("Abs"));
            let u = adding.replace(slots[1], "Maximum", &[kept, size]);
            let (scaled, sum) =
                (after(adding.at, "Mul", &[], bytes, m), after(adding.at, "AddV2", &[], bytes, u));
            adding.subtract(variable, &[scaled, sum]);
        }
        Optimizer::Adagrad { .. } => {
            let square = adding.of_gradient("Square");
            adding.at.assign("AssignAddVariableOp", &[square], &[], Assignment::Change(slots[0]));
            let root = adding.last_root();
            let scaled = adding.of_gradient("Mul");
            adding.subtract(variable, &[scaled, root]);
        }
        Optimizer::Lion { .. } => {
            let (kept, own) = (early(adding.at, bytes), adding.of_gradient("Mul"));
            let sign = adding.at.reuse("Sign", &[kept, own], bytes);
            adding.subtract(variable, &[sign]);
            let (kept, own) = (early(adding.at, bytes), adding.of_gradient("Mul"));
            adding.replace(slots[0], "AddV2", &[kept, own]);
        }
        Optimizer::Ftrl { .. } => {
            let squares = adding.of_gradient("Square");
            let next = adding.at.reuse("AddV2", &[squares], bytes);
            let (one, other) = (adding.of_next("Pow", next), early(adding.at, bytes));
            let difference = adding.at.reuse("Sub", &[one, other], bytes);
            let own = adding.of_gradient("AddV2");
            let linear = adding.at.reuse("Sub", &[own, difference], bytes);
            adding.at.assign("AssignAddVariableOp", &[linear], &[], Assignment::Change(slots[1]));
            let changed = adding.at.last();
            let (clipped, quadratic) =
                (after(adding.at, "ClipByValue", &[], bytes, changed), adding.of_next("Pow", next));
            adding.replace(variable, "RealDiv", &[clipped, quadratic]);
            adding.at.assign("AssignVariableOp", &[next], &[], Assignment::Replace(slots[0], next));
        }
        // A mean of squares, a quotient of the same size, and what is kept of motion, deltas or factors.
        _ => {
            let square = adding.of_gradient("Square");
            let (first, rest) =
                slots.split_first().map_or((None, slots), |(first, rest)| (Some(*first), rest));
            let mut last = None;
            if let Some(first) = first {
                let kept = early(adding.at, bytes);
                last = Some(adding.replace(first, "AddV2", &[kept, square]));
            }
            let scaled = adding.of_gradient("Mul");
            let root = match last {
                Some(last) => adding.root(last),
                None => adding.of_gradient("Sqrt"),
            };
            let mut step = adding.at.reuse("RealDiv", &[scaled, root], bytes);
            for &slot in rest {
                let kept = early(adding.at, bytes);
                let again = adding.at.fresh("Square", &[step], bytes);
                adding.replace(slot, "AddV2", &[kept, again]);
                step = adding.at.reuse("Mul", &[step], bytes);
            }
            adding.subtract(variable, &[step]);
        }
    }
}

struct Adding<'a, 'b> {
    at: &'a mut Lowering<'b>,
    gradient: TensorId,
    bytes: u64,
}

impl Adding<'_, '_> {
    fn of_gradient(&mut self, name: &'static str) -> TensorId {
        self.at.fresh(name, &[self.gradient], self.bytes)
    }

    fn of_next(&mut self, name: &'static str, next: TensorId) -> TensorId {
        self.at.fresh(name, &[next], self.bytes)
    }

    /// `slot += (gradient - slot) share`
    fn mean(&mut self, slot: TensorId) -> KernelId {
        let difference = self.of_gradient("Sub");
        self.follow(slot, difference)
    }

    /// `slot += (gradient^2 - slot) share`
    fn mean_square(&mut self, slot: TensorId) -> KernelId {
        let square = self.of_gradient("Square");
        let difference = self.at.reuse("Sub", &[square], self.bytes);
        self.follow(slot, difference)
    }

    fn follow(&mut self, slot: TensorId, difference: TensorId) -> KernelId {
        let share = self.at.reuse("Mul", &[difference], self.bytes);
        self.at.assign("AssignAddVariableOp", &[share], &[], Assignment::Change(slot));
        self.at.last()
    }

    /// A new value for a slot from others.
    fn replace(&mut self, slot: TensorId, name: &'static str, from: &[TensorId]) -> KernelId {
        let bytes = self.at.program.tensor(slot).bytes;
        let new = self.at.reuse(name, from, bytes);
        self.at.assign("AssignVariableOp", &[new], &[], Assignment::Replace(slot, new));
        self.at.last()
    }

    /// The root of a slot after its assignment.
    fn root(&mut self, assigned: KernelId) -> TensorId {
        let sum = after(self.at, "AddV2", &[], self.bytes, assigned);
        self.at.reuse("Sqrt", &[sum], self.bytes)
    }

    fn last_root(&mut self) -> TensorId {
        let last = self.at.last();
        self.root(last)
    }

    fn subtract(&mut self, variable: TensorId, from: &[TensorId]) {
        let step = self.at.reuse("RealDiv", from, self.bytes);
        self.at.assign("AssignSubVariableOp", &[step], &[], Assignment::Change(variable));
    }
}
