//! The gradient of choosing: it goes where the element came from. The condition has none.

use super::binary::unstretched;
use super::{Backward, Contributions};
use plimsoll_graph::op::{Fill, Select};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(crate) fn gradient(_op: &Select, at: &mut Backward<'_>) -> Contributions {
    let da = at.needs(1).then(|| chosen(at, 1)).transpose()?;
    let db = at.needs(2).then(|| chosen(at, 2)).transpose()?;
    Ok(vec![None, da, db])
}

/// The gradient where that side was chosen, 0 elsewhere.
fn chosen(at: &mut Backward<'_>, side: usize) -> Result<ValueId, ShapeError> {
    let zero = at.single(Fill { shape: Shape::scalar(), value: 0.0 }, &[])?;
    let (condition, dy) = (at.input(0), at.gradient());
    let sides = if side == 1 { [condition, dy, zero] } else { [condition, zero, dy] };
    let gradient = at.single(Select {}, &sides)?;
    unstretched(at, gradient, at.input(side))
}
