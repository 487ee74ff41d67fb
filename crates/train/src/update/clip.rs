//! Gradients that may not be too long.
//!
//! The norm of a gradient whose rows Keras tells apart is that of the rows, not of their sums.

use super::{Adding, Trained};
use plimsoll_graph::op::{Binary, MatMul, Reduce, Reduction, Reshape, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

impl Adding<'_> {
    /// Makes one gradient no longer than the limit.
    pub(super) fn clip_norm(&mut self, one: &mut Trained, limit: f64) -> Result<(), ShapeError> {
        let square = self.square_norm(one)?;
        let norm = self.add(Unary::Sqrt, &[square])?;
        let (limit, least) = (self.number(limit)?, self.add(Unary::MaximumScalar(limit as f32), &[norm])?);
        let factor = self.add(Binary::Divide, &[limit, least])?;
        self.shorten(one, factor)
    }

    /// Makes all gradients together no longer than the limit. All of them wait for the last.
    pub(super) fn clip_global_norm(&mut self, all: &mut [Trained], limit: f64) -> Result<(), ShapeError> {
        let mut sum = None;
        for one in &*all {
            self.site.layer = self.graph.value(one.parameter).layer;
            let square = self.square_norm(one)?;
            sum = Some(sum.map_or(Ok(square), |sum| self.add(Binary::Add, &[sum, square]))?);
        }
        self.site.layer = None;
        let Some(sum) = sum else { return Ok(()) };
        let norm = self.add(Unary::Sqrt, &[sum])?;
        let (limit, least) = (self.number(limit)?, self.add(Unary::MaximumScalar(limit as f32), &[norm])?);
        let factor = self.add(Binary::Divide, &[limit, least])?;
        // A norm that is not finite makes everything no number, as in Keras.
        let nothing = self.add(Binary::Subtract, &[norm, norm])?;
        let factor = self.add(Binary::Add, &[factor, nothing])?;
        for one in all {
            self.site.layer = self.graph.value(one.parameter).layer;
            self.shorten(one, factor)?;
            // Keras makes one tensor of the rows here.
            one.rows = Default::default();
        }
        Ok(())
    }

    fn shorten(&mut self, one: &mut Trained, factor: ValueId) -> Result<(), ShapeError> {
        one.gradient = self.add(Binary::Multiply, &[one.gradient, factor])?;
        if let Some(squares) = &mut one.rows.squares {
            let once = self.add(Binary::Multiply, &[*squares, factor])?;
            *squares = self.add(Binary::Multiply, &[once, factor])?;
        }
        if let Some(absolutes) = &mut one.rows.absolutes {
            *absolutes = self.add(Binary::Multiply, &[*absolutes, factor])?;
        }
        Ok(())
    }

    /// The sum of all squares, a scalar.
    fn square_norm(&mut self, one: &Trained) -> Result<ValueId, ShapeError> {
        match one.rows.squares {
            Some(squares) => {
                let rank = self.shape(squares).rank();
                self.add(Reduce::all(Reduction::Sum, rank), &[squares])
            }
            None => self.square(one.gradient),
        }
    }

    /// The product of a tensor with itself, which takes no memory beside it.
    pub(super) fn square(&mut self, value: ValueId) -> Result<ValueId, ShapeError> {
        let elements = self.shape(value).elements();
        let row = self.add(Reshape { shape: Shape::new([1, elements]) }, &[value])?;
        let product = self.add(MatMul { transpose_a: false, transpose_b: true }, &[row, row])?;
        self.add(Reshape { shape: Shape::scalar() }, &[product])
    }
}
