//! What shape rules ask of their inputs. Each function gives the thing asked for or the problem in words.

use crate::{ElementType, Shape, TensorType};

/// What a shape rule gives: the types of the outputs, or what is wrong.
pub(crate) type Inferred = Result<Vec<TensorType>, String>;

/// Exactly `N` inputs.
pub(crate) fn operands<const N: usize>(inputs: &[TensorType]) -> Result<[&TensorType; N], String> {
    let count = inputs.len();
    inputs.iter().collect::<Vec<_>>().try_into().map_err(|_| format!("it takes {N} inputs, not {count}"))
}

/// `N` inputs that are always there, then possibly one more.
pub(crate) fn operands_and_optional<const N: usize>(
    inputs: &[TensorType],
) -> Result<([&TensorType; N], Option<&TensorType>), String> {
    let count = inputs.len();
    if count != N && count != N + 1 {
        return Err(format!("it takes {N} or {} inputs, not {count}", N + 1));
    }
    Ok((operands(&inputs[..N])?, inputs.get(N)))
}

/// Float32, which is what kernels compute in.
pub(crate) fn floats(tensors: &[&TensorType]) -> Result<(), String> {
    match tensors.iter().find(|tensor| tensor.element != ElementType::F32) {
        Some(tensor) => Err(format!("{tensor} is not float32; cast it first")),
        None => Ok(()),
    }
}

/// An integer tensor of labels or ids.
pub(crate) fn integers(tensor: &TensorType) -> Result<(), String> {
    match tensor.element {
        ElementType::I32 => Ok(()),
        _ => Err(format!("{tensor} is not an int32 tensor")),
    }
}

/// The extents of a tensor of rank `N`.
pub(crate) fn extents<const N: usize>(what: &str, tensor: &TensorType) -> Result<[usize; N], String> {
    let shape = &tensor.shape;
    shape.extents().try_into().map_err(|_| format!("{what} {shape} has rank {}, not {N}", shape.rank()))
}

/// A tensor of exactly this shape.
pub(crate) fn shape(what: &str, tensor: &TensorType, wanted: impl Into<Shape>) -> Result<(), String> {
    let wanted = wanted.into();
    match tensor.shape == wanted {
        true => Ok(()),
        false => Err(format!("{what} has shape {}, not {wanted}", tensor.shape)),
    }
}

/// A condition, or the problem.
pub(crate) fn ensure(condition: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(problem()) }
}
