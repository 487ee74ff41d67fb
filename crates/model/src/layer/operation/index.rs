//! What stands in brackets behind a tensor: `x[:, 1:, -1]`.

use super::Context;
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
        /// The step; only 1 is supported.
        step: Option<isize>,
    },
    /// A new axis of extent 1.
    NewAxis,
    /// All axes that the other items leave.
    Ellipsis,
}

/// The part of a tensor that the items say.
pub(super) fn item(at: &mut Context<'_>, x: ValueId, key: &[Index]) -> Result<ValueId, ShapeError> {
    let extents = at.shape(x).extents().to_vec();
    let (start, size, result) = cut(&extents, key).map_err(|problem| at.refusal(&[x], problem))?;
    let part = if size == extents { x } else { at.op(Slice { start, size }, &[x])? };
    at.reshaped(part, Shape::new(result))
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
fn bound(index: isize, extent: usize) -> usize {
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
        assert!(shape(&[Index::Range { start: None, stop: None, step: Some(2) }]).is_err());
    }
}
