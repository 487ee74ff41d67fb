//! What was read as elements of a field: classes, values, numbers, tokens.

use super::{Form, Want};
use crate::source::whole;
use crate::{Elements, InputError, Number};

/// Writes a class as its number, or as a 1 in its place.
pub(super) fn write_class(
    class: usize,
    form: &Form,
    want: &Want,
    into: Elements<'_>,
    place: &dyn Fn() -> String,
) -> Result<usize, InputError> {
    if class >= want.below {
        let problem =
            format!("the class is {class}, where `{}` has {}, counted from 0", want.name, want.below);
        return Err(InputError::sample(place(), problem));
    }
    match (form, into) {
        (Form::OneHot, Elements::F32(into)) => {
            into.fill(0.0);
            into[class] = 1.0;
            Ok(into.len())
        }
        (_, Elements::F32(into)) => {
            into[0] = class as f32;
            Ok(1)
        }
        (_, Elements::I32(into)) => {
            into[0] = class as i32;
            Ok(1)
        }
    }
}

pub(super) fn write_value(
    value: f64,
    form: &Form,
    want: &Want,
    into: Elements<'_>,
    place: &dyn Fn() -> String,
) -> Result<usize, InputError> {
    let is_class = matches!(form, Form::Class | Form::OneHot);
    match (is_class, whole(value), into) {
        (true, Some(class), into) => write_class(class, form, want, into, place),
        (true, None, _) => {
            let problem = format!("{value} is no class: `{}` has {}, counted from 0", want.name, want.below);
            Err(InputError::sample(place(), problem))
        }
        (false, _, Elements::F32(into)) => {
            into[0] = value as f32;
            Ok(1)
        }
        (false, _, Elements::I32(into)) => {
            into[0] = integer(value, want, place)?;
            Ok(1)
        }
    }
}

/// Writes all numbers of a column.
pub(super) fn write_numbers(
    element: Number,
    bytes: &[u8],
    form: &Form,
    want: &Want,
    into: Elements<'_>,
    place: &dyn Fn() -> String,
) -> Result<usize, InputError> {
    let each = bytes.chunks_exact(element.bytes());
    let count = each.len();
    match (into, form, element) {
        (Elements::F32(into), Form::Pixels(pixels), _) => {
            let channels = want.tensor.shape.extents().last().copied().unwrap_or(1).clamp(1, 4);
            let lines: Vec<(f32, f32)> = (0..channels).map(|channel| pixels.line(channel)).collect();
            for (at, (into, byte)) in into.iter_mut().zip(bytes).enumerate() {
                let (factor, summand) = lines[at % channels];
                *into = f32::from(*byte) * factor + summand;
            }
        }
        (Elements::F32(into), _, Number::F32) => {
            let numbers = each.map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")));
            into.iter_mut().zip(numbers).for_each(|(into, number)| *into = number);
        }
        (Elements::F32(into), _, _) => {
            into.iter_mut().zip(each).for_each(|(into, bytes)| *into = element.value(bytes) as f32);
        }
        (Elements::I32(into), _, _) => {
            for (into, bytes) in into.iter_mut().zip(each) {
                *into = integer(element.value(bytes), want, place)?;
            }
        }
    }
    Ok(count)
}

/// Writes as many tokens as there is room for, and 0 where there are fewer.
pub(super) fn write_tokens(bytes: &[u8], into: Elements<'_>) -> usize {
    let tokens = bytes.chunks_exact(4).map(|four| i32::from_le_bytes(four.try_into().expect("four bytes")));
    let tokens = tokens.chain(std::iter::repeat(0));
    match into {
        Elements::I32(into) => {
            into.iter_mut().zip(tokens).for_each(|(into, token)| *into = token);
            into.len()
        }
        Elements::F32(into) => {
            into.iter_mut().zip(tokens).for_each(|(into, token)| *into = token as f32);
            into.len()
        }
    }
}

/// A number that is wanted as an integer.
fn integer(value: f64, want: &Want, place: &dyn Fn() -> String) -> Result<i32, InputError> {
    let is_integer = value.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value);
    match is_integer && value >= 0.0 && value < want.below as f64 {
        true => Ok(value as i32),
        false => {
            let problem = format!(
                "{value} is none of the integers from 0 to {} that `{}` takes",
                want.below - 1,
                want.name
            );
            Err(InputError::sample(place(), problem))
        }
    }
}
