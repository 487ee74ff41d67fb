//! Samples under another shape.

use super::{Context, Lowered, Signal};
use plimsoll_graph::{Shape, op};
use serde::{Deserialize, Serialize};

/// The same elements of each sample under another shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reshape {
    /// Without the batch; one extent may be -1 and is then what is left.
    pub target_shape: Vec<isize>,
}

impl Reshape {
    /// A reshape to known extents, without the batch.
    pub fn new(target: &[isize]) -> Self {
        Self { target_shape: target.to_vec() }
    }

    pub(super) fn kind(&self) -> &'static str {
        "reshape"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let shape = at.shape(x.value);
        let batch = shape[0];
        let extents = extents(&self.target_shape, shape.elements() / batch);
        let wrong = || at.refusal(&[x.value], format!("the target {:?} does not fit", self.target_shape));
        let shape = Shape::new([vec![batch], extents.ok_or_else(wrong)?].concat());
        Ok(Signal::bare(at.op(op::Reshape { shape }, &[x.value])?))
    }
}

/// A target with -1 replaced by what is left of so many elements.
pub(super) fn extents(target: &[isize], elements: usize) -> Option<Vec<usize>> {
    let known = target.iter().filter(|&&extent| extent != -1);
    let known = known.map(|&extent| usize::try_from(extent).ok());
    let product = known.collect::<Option<Vec<_>>>()?.into_iter().try_fold(1usize, usize::checked_mul)?;
    let unknown = target.iter().filter(|&&extent| extent == -1).count();
    let rest = elements.checked_div(product)?;
    let fits = unknown <= 1 && if unknown == 1 { rest * product == elements } else { product == elements };
    let extent = |&extent: &isize| if extent == -1 { rest } else { extent.unsigned_abs() };
    fits.then(|| target.iter().map(extent).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_extent_may_be_left_open() {
        assert_eq!(extents(&[2, -1], 6), Some(vec![2, 3]));
        assert_eq!(extents(&[6], 6), Some(vec![6]));
        for wrong in [&[4, -1][..], &[-1, -1], &[5], &[0, -1], &[-2, 3], &[isize::MAX, isize::MAX]] {
            assert_eq!(extents(wrong, 6), None, "{wrong:?}");
        }
    }
}
