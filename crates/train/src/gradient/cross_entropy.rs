//! The gradient of cross-entropy losses with respect to the predictions; targets are given, not learned.

use super::{Backward, Contributions};
use plimsoll_graph::op::{CrossEntropy, CrossEntropyGradient};

pub(crate) fn gradient(op: &CrossEntropy, at: &mut Backward<'_>) -> Contributions {
    let (predictions, targets, dloss) = (at.input(0), at.input(1), at.gradient());
    Ok(vec![Some(at.single(CrossEntropyGradient(*op), &[predictions, targets, dloss])?), None])
}
