//! Which tensor of one state is which of another, or the first difference between them.

use crate::{State, Tensor};
use plimsoll_graph::{Role, TensorType};
use std::collections::HashMap;

/// The tensors of a state that is wanted, as another has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// For each tensor that is wanted its position in the other; nothing where it starts afresh.
    pub positions: Vec<Option<usize>>,
    /// The names of tensors that only the other has.
    pub extra: Vec<String>,
}

/// Why a state is not of the model that wants it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum Mismatch {
    #[error("the state has no `{name}` {tensor}; {}", extra_text(.extra))]
    Missing { name: String, tensor: TensorType, extra: Vec<String> },
    #[error("`{name}` is {found} in the state, but {wanted} in the model")]
    Type { name: String, found: TensorType, wanted: TensorType },
    #[error("`{name}` is {found} in the state, but {wanted} in the model")]
    Role { name: String, found: Role, wanted: Role },
}

/// Finds the tensors that `wanted` lists in `found`. A state to which no update was applied may leave out what an
/// optimizer remembers: that starts afresh, as it would have.
pub fn pair(wanted: &State, found: &State) -> Result<Pairs, Mismatch> {
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    by_name
        .extend(found.tensors.iter().enumerate().map(|(position, tensor)| (tensor.name.as_str(), position)));
    let mut missing = None;
    let mut positions = Vec::with_capacity(wanted.tensors.len());
    for tensor in &wanted.tensors {
        let position = by_name.remove(tensor.name.as_str());
        if let Some(position) = position {
            check(tensor, &found.tensors[position], found.updates)?;
        } else if tensor.role != Role::OptimizerState || found.updates > 0 {
            missing = missing.or(Some(tensor));
        }
        positions.push(position);
    }
    let mut extra: Vec<usize> = by_name.into_values().collect();
    extra.sort_unstable();
    let extra = extra.into_iter().map(|position| found.tensors[position].name.clone()).collect();
    match missing {
        None => Ok(Pairs { positions, extra }),
        Some(Tensor { name, tensor, .. }) => {
            Err(Mismatch::Missing { name: name.clone(), tensor: tensor.clone(), extra })
        }
    }
}

fn check(wanted: &Tensor, found: &Tensor, updates: u64) -> Result<(), Mismatch> {
    let name = wanted.name.clone();
    if wanted.tensor != found.tensor {
        let (found, wanted) = (found.tensor.clone(), wanted.tensor.clone());
        return Err(Mismatch::Type { name, found, wanted });
    }
    // Files of others do not say what is learned and what is not; a layer that is frozen later has the same contents.
    let weights = [Role::Parameter, Role::Statistic];
    let alike = wanted.role == found.role || weights.contains(&wanted.role) && weights.contains(&found.role);
    match alike || updates == 0 {
        true => Ok(()),
        false => Err(Mismatch::Role { name, found: found.role, wanted: wanted.role }),
    }
}

/// What a state has that nobody wants, in a few words.
pub(crate) fn extra_text(extra: &[String]) -> String {
    match extra {
        [] => "all it has is in the model".to_string(),
        [one] => format!("it has `{one}`, which the model has not"),
        [first, rest @ ..] => format!("it has `{first}` and {} more, which the model has not", rest.len()),
    }
}

impl Mismatch {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { name, extra, .. } => {
                extra.iter().any(|other| same_parameter(name, other)).then(|| {
                    "the state is of another optimizer: train with that one, or save weights alone"
                        .to_string()
                })
            }
            Self::Type { .. } | Self::Role { .. } => {
                Some("it is of another model, or of the same with other settings".to_string())
            }
        }
    }
}

/// Whether two names are slots of one parameter, such as `adam/m/dense/kernel` and `momentum/m/dense/kernel`.
fn same_parameter(one: &str, other: &str) -> bool {
    let parameter = |name: &str| name.splitn(3, '/').nth(2).map(str::to_string);
    parameter(one).is_some() && parameter(one) == parameter(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(names: &[(&str, Role)], updates: u64) -> State {
        let tensor = |&(name, role): &(&str, Role)| Tensor {
            name: name.to_string(),
            tensor: TensorType::f32([2]),
            role,
        };
        State { tensors: names.iter().map(tensor).collect(), step: updates, updates, ..State::default() }
    }

    const WANTED: [(&str, Role); 2] =
        [("dense/kernel", Role::Parameter), ("adam/m/dense/kernel", Role::OptimizerState)];

    #[test]
    fn tensors_are_found_in_any_order_and_what_is_extra_is_named() {
        let found = state(&[WANTED[1], ("more", Role::Parameter), WANTED[0]], 3);
        let pairs = pair(&state(&WANTED, 3), &found).unwrap();
        assert_eq!(pairs, Pairs { positions: vec![Some(2), Some(0)], extra: vec!["more".to_string()] });
    }

    #[test]
    fn the_first_difference_is_named() {
        let wanted = state(&WANTED, 3);
        let missing = pair(&wanted, &state(&WANTED[1..], 3)).unwrap_err();
        assert_eq!(missing.to_string(), "the state has no `dense/kernel` f32[2]; all it has is in the model");
        assert_eq!(missing.hint(), None);
        let mut other = wanted.clone();
        other.tensors[0].tensor = TensorType::f32([3]);
        let shape = pair(&wanted, &other).unwrap_err().to_string();
        assert_eq!(shape, "`dense/kernel` is f32[3] in the state, but f32[2] in the model");
        let momentum = state(&[WANTED[0], ("momentum/m/dense/kernel", Role::OptimizerState)], 3);
        let optimizer = pair(&wanted, &momentum).unwrap_err();
        assert!(optimizer.to_string().contains("it has `momentum/m/dense/kernel`"), "{optimizer}");
        assert!(optimizer.hint().unwrap().contains("another optimizer"));
    }

    #[test]
    fn weights_alone_are_enough_before_the_first_update() {
        let wanted = state(&WANTED, 0);
        let pairs = pair(&wanted, &state(&WANTED[..1], 0)).unwrap();
        assert_eq!(pairs.positions, [Some(0), None]);
        pair(&wanted, &state(&WANTED[..1], 1)).unwrap_err();
    }
}
