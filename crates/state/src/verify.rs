//! Whether a state can be one: every equation of `state.rs`, checked the slow way.

use crate::state::element_bytes;
use crate::{State, StateError, Tensor};
use plimsoll_graph::Role;
use std::collections::HashSet;

/// Counters beyond this are damage, not training: a double no longer counts there.
const LARGEST_COUNT: u64 = 1 << 53;

/// Whether a state can be one.
pub fn verify(state: &State) -> Result<(), StateError> {
    let (mut names, mut total) = (HashSet::new(), 0u64);
    for tensor in &state.tensors {
        let size = size(tensor).map_err(|problem| invalid(format!("`{}` {problem}", tensor.name)))?;
        total =
            total.checked_add(size).ok_or_else(|| invalid("its tensors are too large together".into()))?;
        if !names.insert(&tensor.name) {
            return Err(invalid(format!("there are two tensors `{}`", tensor.name)));
        }
    }
    let State { step, updates, epoch, position, .. } = *state;
    for (name, count) in [("step", step), ("epoch", epoch), ("position", position)] {
        if count > LARGEST_COUNT {
            return Err(invalid(format!("{name} {count} is absurd")));
        }
    }
    match (updates <= step, epoch <= position) {
        (true, true) => Ok(()),
        (false, _) => Err(invalid(format!("{updates} updates were applied in {step} steps"))),
        (_, false) => Err(invalid(format!("{epoch} epochs were made of {position} samples"))),
    }
}

fn size(tensor: &Tensor) -> Result<u64, String> {
    if tensor.name.is_empty() || tensor.name.contains(char::is_control) {
        return Err("is no name".to_string());
    }
    if !tensor.role.is_persistent() || tensor.role == Role::Accumulator {
        return Err(format!("is {}, which means nothing between steps", tensor.role));
    }
    let shape = &tensor.tensor.shape;
    match shape.is_reasonable() {
        true => Ok(shape.elements() as u64 * element_bytes(tensor.tensor.element)),
        false => Err(format!("has the shape {shape}, which is absurd")),
    }
}

fn invalid(problem: String) -> StateError {
    StateError::Invalid(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_graph::TensorType;

    fn tensor(name: &str, shape: [usize; 2], role: Role) -> Tensor {
        Tensor { name: name.to_string(), tensor: TensorType::f32(shape), role }
    }

    fn refusal(change: impl FnOnce(&mut State)) -> String {
        let tensors = vec![tensor("a", [2, 3], Role::Parameter), tensor("b", [0, 3], Role::Statistic)];
        let mut state = State { tensors, step: 9, updates: 8, epoch: 2, position: 40, ..State::default() };
        verify(&state).unwrap();
        change(&mut state);
        verify(&state).unwrap_err().to_string()
    }

    #[test]
    fn each_equation_is_checked() {
        let has = |text: String, part: &str| assert!(text.contains(part), "{text}");
        has(refusal(|state| state.tensors[1].name = "a".into()), "two tensors `a`");
        has(refusal(|state| state.tensors[1].name.clear()), "is no name");
        has(refusal(|state| state.tensors[0].role = Role::Gradient), "`a` is gradient");
        has(refusal(|state| state.tensors[0].role = Role::Accumulator), "`a` is accumulator");
        has(refusal(|state| state.tensors[0] = tensor("a", [1 << 40, 1 << 40], Role::Parameter)), "absurd");
        has(refusal(|state| state.updates = 10), "10 updates were applied in 9 steps");
        has(refusal(|state| state.epoch = 41), "41 epochs were made of 40 samples");
        has(refusal(|state| state.position = u64::MAX), "is absurd");
    }

    #[test]
    fn sizes_that_do_not_add_up_are_refused() {
        let many = |state: &mut State| {
            state.tensors =
                (0..1 << 18).map(|i| tensor(&i.to_string(), [1 << 22, 1 << 22], Role::Parameter)).collect();
        };
        assert!(refusal(many).contains("too large together"));
    }
}
