//! What stands in brackets behind a tensor: `x[:, 1:, -1]`.

use super::Context;
use super::terms::picked;
use plimsoll_graph::op::Slice;
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// One item in the brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Index {
    /// One index, counted from the end if negative; the axis disappears.
    At(isize),
    /// From the start up to the stop, as Python counts.
    Range {
        /// The first index; the beginning if not given.
        start: Option<isize>,
        /// The index after the last; the end if not given.
        stop: Option<isize>,
        /// The step; 1 if not given.
        step: Option<isize>,
    },
    /// A new axis of extent 1.
    NewAxis,
    /// All axes that the other items leave.
    Ellipsis,
}

/// The part of a tensor that the items say.
pub(super) fn item(at: &mut Context<'_>, x: ValueId, key: &[Index]) -> Result<ValueId, ShapeError> {
    let (x, key) = stepped(at, x, key)?;
    let extents = at.shape(x).extents().to_vec();
    let (start, size, result) = cut(&extents, &key).map_err(|problem| at.refusal(&[x], problem))?;
    let part = if size == extents { x } else { at.op(Slice { start, size }, &[x])? };
    at.reshaped(part, Shape::new(result))
}

/// Ranges with steps, taken first; what is left has none.
fn stepped(at: &mut Context<'_>, x: ValueId, key: &[Index]) -> Result<(ValueId, Vec<Index>), ShapeError> {
    let (mut x, mut left) = (x, key.to_vec());
    let named = |items: &[Index]| {
        items.iter().filter(|item| matches!(item, Index::At(_) | Index::Range { .. })).count()
    };
    for (place, item) in key.iter().enumerate() {
        let &Index::Range { start, stop, step: Some(step) } = item else { continue };
        if step == 1 {
            continue;
        }
        let ellipsis = key[..place].contains(&Index::Ellipsis);
        let axis = match ellipsis {
            true => at.shape(x).rank().checked_sub(named(&key[place..])),
            false => Some(named(&key[..place])).filter(|&axis| axis < at.shape(x).rank()),
        };
        let axis = axis.ok_or_else(|| at.refusal(&[x], "there are more indices than axes".to_string()))?;
        let positions = positions(at.shape(x)[axis], start, stop, step);
        if positions.is_empty() {
            return Err(at.refusal(&[x], format!("nothing of axis {axis} is left")));
        }
        x = picked(at, x, axis, &positions)?;
        left[place] = Index::Range { start: None, stop: None, step: None };
    }
    Ok((x, left))
}

/// The positions that Python's slice has.
fn positions(extent: usize, start: Option<isize>, stop: Option<isize>, step: isize) -> Vec<usize> {
    let length = extent as isize;
    let inside = |index: isize, low: isize, high: isize| {
        (if index < 0 { index + length } else { index }).clamp(low, high)
    };
    let (mut at, end) = match step > 0 {
        true => (
            start.map_or(0, |start| inside(start, 0, length)),
            stop.map_or(length, |stop| inside(stop, 0, length)),
        ),
        false => (
            start.map_or(length - 1, |start| inside(start, -1, length - 1)),
            stop.map_or(-1, |stop| inside(stop, -1, length - 1)),
        ),
    };
    let mut positions = Vec::new();
    while step != 0 && (if step > 0 { at < end } else { at > end }) {
        positions.push(at.unsigned_abs());
        at += step;
    }
    positions
}

/// Where the part starts, how large it is, and what its shape becomes.
type Cut = (Vec<usize>, Vec<usize>, Vec<usize>);

fn cut(extents: &[usize], key: &[Index]) -> Result<Cut, String> {
    let (mut start, mut size, mut result) = (Vec::new(), Vec::new(), Vec::new());
    let named = key.iter().filter(|item| matches!(item, Index::At(_) | Index::Range { .. })).count();
    let left = extents.len().checked_sub(named).ok_or("there are more indices than axes")?;
    let ellipses = key.iter().filter(|item| **item == Index::Ellipsis).count();
    if ellipses > 1 {
        return Err("there are two ellipses".to_string());
    }
    let trailing = (ellipses == 0).then_some(Index::Ellipsis);
    for item in key.iter().copied().chain(trailing) {
        let axis = start.len();
        match item {
            Index::NewAxis => result.push(1),
            Index::Ellipsis => {
                for &extent in &extents[axis..axis + left] {
                    start.push(0);
                    size.push(extent);
                    result.push(extent);
                }
            }
            Index::At(index) => {
                let position = if index < 0 {
                    extents[axis].checked_add_signed(index)
                } else {
                    Some(index.unsigned_abs())
                };
                let inside = position.filter(|&position| position < extents[axis]);
                start.push(inside.ok_or_else(|| format!("axis {axis} has no index {index}"))?);
                size.push(1);
            }
            Index::Range { step: Some(step), .. } if step != 1 => {
                return Err(format!("steps of {step} are not supported"));
            }
            Index::Range { start: first, stop, .. } => {
                let first = bound(first.unwrap_or(0), extents[axis]);
                let stop = stop.map_or(extents[axis], |stop| bound(stop, extents[axis]));
                let extent = stop.checked_sub(first).filter(|&extent| extent > 0);
                let extent = extent.ok_or_else(|| format!("nothing of axis {axis} is left"))?;
                start.push(first);
                size.push(extent);
                result.push(extent);
            }
        }
    }
    Ok((start, size, result))
}

/// A bound as Python takes it: from the end if negative, and never outside.
pub(super) fn bound(index: isize, extent: usize) -> usize {
    match index < 0 {
        true => extent.saturating_sub(index.unsigned_abs()),
        false => index.unsigned_abs().min(extent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_python_s() {
        let range = |start, stop| Index::Range { start, stop, step: None };
        let all = range(None, None);
        let shape = |key: &[Index]| cut(&[2, 5, 3], key).map(|(start, _, result)| (start, result));
        assert_eq!(shape(&[all, Index::At(-1)]), Ok((vec![0, 4, 0], vec![2, 3])));
        assert_eq!(shape(&[Index::Ellipsis, range(Some(-2), None)]), Ok((vec![0, 0, 1], vec![2, 5, 2])));
        assert_eq!(
            shape(&[all, Index::NewAxis, range(Some(1), Some(9))]),
            Ok((vec![0, 1, 0], vec![2, 1, 4, 3]))
        );
        for wrong in [&[all, Index::At(5)][..], &[all; 4], &[range(Some(2), Some(1))], &[Index::Ellipsis; 2]]
        {
            assert!(shape(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(positions(5, None, None, 2), [0, 2, 4]);
        assert_eq!(positions(5, Some(-2), None, -1), [3, 2, 1, 0]);
        assert_eq!(positions(5, None, Some(1), -2), [4, 2]);
        assert_eq!(positions(5, Some(7), Some(-9), -3), [4, 1]);
        assert_eq!(positions(5, Some(3), Some(1), 1), [0; 0]);
    }
}
