//! Runs: the longest stretches of a result that are read from one place, or from one element, of a smaller operand.

use plimsoll_graph::Shape;

/// How two operands are read while both are stretched to their common shape. The result is rows of `length` elements;
/// along a row each operand either advances with the result or stays at one element.
pub(super) struct Runs<'s> {
    shapes: [&'s Shape; 2],
    /// How many axes count the rows; the others lie within a row.
    outer: usize,
    /// The elements of a row.
    pub(super) length: usize,
    /// Whether the operand stays at one element along a row.
    pub(super) stays: [bool; 2],
    /// Whether the operand is not stretched at all.
    is_whole: [bool; 2],
}

impl<'s> Runs<'s> {
    /// For two shapes that can be stretched to each other.
    pub(super) fn new(a: &'s Shape, b: &'s Shape) -> Self {
        let outer = a.rank().max(b.rank());
        let mut runs = Self { shapes: [a, b], outer, length: 1, stays: [false; 2], is_whole: [false; 2] };
        let elements: usize = (0..outer).map(|axis| runs.full(axis)).product();
        runs.is_whole = [a.elements() == elements, b.elements() == elements];
        while runs.outer > 0 {
            let axis = runs.outer - 1;
            if runs.full(axis) > 1 {
                let stays = [runs.own(0, axis) == 1, runs.own(1, axis) == 1];
                if runs.length > 1 && stays != runs.stays {
                    break;
                }
                runs.stays = stays;
                runs.length *= runs.full(axis);
            }
            runs.outer = axis;
        }
        runs
    }

    /// Where an operand's part of a row starts.
    pub(super) fn start(&self, operand: usize, mut row: usize) -> usize {
        if self.is_whole[operand] {
            return row * self.length;
        }
        let mut stride = if self.stays[operand] { 1 } else { self.length };
        let mut start = 0;
        for axis in (0..self.outer).rev() {
            let (full, own) = (self.full(axis), self.own(operand, axis));
            if own > 1 {
                start += row % full * stride;
                stride *= own;
            }
            row /= full;
        }
        start
    }

    fn full(&self, axis: usize) -> usize {
        self.own(0, axis).max(self.own(1, axis))
    }

    fn own(&self, operand: usize, axis: usize) -> usize {
        let rank = self.shapes[0].rank().max(self.shapes[1].rank());
        let shape = self.shapes[operand];
        (axis + shape.rank()).checked_sub(rank).map_or(1, |own_axis| shape[own_axis])
    }
}

/// The parts of rows that a piece of a tensor consists of.
pub(super) fn segments(start: usize, elements: usize, row_length: usize) -> impl Iterator<Item = Segment> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let position = start + done;
        let (row, column) = (position / row_length, position % row_length);
        let length = (row_length - column).min(elements - done);
        let segment = Segment { row, column, at: done, length };
        done += length;
        (length > 0).then_some(segment)
    })
}

/// A part of one row.
pub(super) struct Segment {
    /// Which row.
    pub(super) row: usize,
    /// Where in the row it starts.
    pub(super) column: usize,
    /// Where in the piece it starts.
    pub(super) at: usize,
    /// How many elements it has.
    pub(super) length: usize,
}
