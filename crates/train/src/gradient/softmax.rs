//! The gradients of softmax and of its logarithm, both from their results.

use super::{Backward, Contributions};
use plimsoll_graph::op::{LogSoftmax, LogSoftmaxGradient, Softmax, SoftmaxGradient};

pub(crate) fn gradient(_op: &Softmax, at: &mut Backward<'_>) -> Contributions {
    let (y, dy) = (at.output(0), at.gradient());
    Ok(vec![Some(at.single(SoftmaxGradient {}, &[y, dy])?)])
}

pub(crate) fn gradient_log_softmax(_op: &LogSoftmax, at: &mut Backward<'_>) -> Contributions {
    let (y, dy) = (at.output(0), at.gradient());
    Ok(vec![Some(at.single(LogSoftmaxGradient {}, &[y, dy])?)])
}
