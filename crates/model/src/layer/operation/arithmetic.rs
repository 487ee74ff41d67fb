//! Functions of two operands, either of which may be a number.

use super::{Context, Function, Term, pair};
use plimsoll_graph::op::{Binary, Unary};
use plimsoll_graph::{ShapeError, ValueId};

impl Function {
    pub(super) fn arithmetic(&self, at: &mut Context<'_>, operands: &[Term]) -> Result<ValueId, ShapeError> {
        let operands = pair(at, operands)?;
        if let Some(result) = self.by_number(at, operands)? {
            return Ok(result);
        }
        let binary = match self {
            Self::Add => Binary::Add,
            Self::Subtract => Binary::Subtract,
            Self::Multiply => Binary::Multiply,
            Self::TrueDivide => Binary::Divide,
            Self::Maximum => Binary::Maximum,
            Self::Minimum => Binary::Minimum,
            Self::Power => Binary::Power,
            _ => return Err(at.refusal(&[], format!("{self:?} of these operands is not supported"))),
        };
        let [a, b] = operands;
        let (a, b) = (a.value(at)?, b.value(at)?);
        at.op(binary, &[a, b])
    }

    /// The functions of a tensor and a number that are functions of the tensor alone.
    fn by_number(&self, at: &mut Context<'_>, operands: [Term; 2]) -> Result<Option<ValueId>, ShapeError> {
        let (x, unary) = match (self, operands) {
            (Self::Add, [Term::Value(x), Term::Number(c)] | [Term::Number(c), Term::Value(x)]) => {
                (x, Unary::AddScalar(c))
            }
            (Self::Multiply, [Term::Value(x), Term::Number(c)] | [Term::Number(c), Term::Value(x)]) => {
                (x, Unary::MultiplyScalar(c))
            }
            (Self::Maximum, [Term::Value(x), Term::Number(c)] | [Term::Number(c), Term::Value(x)]) => {
                (x, Unary::MaximumScalar(c))
            }
            (Self::Subtract, [Term::Value(x), Term::Number(c)]) => (x, Unary::AddScalar(-c)),
            (Self::Power, [Term::Value(x), Term::Number(2.0)]) => (x, Unary::Square),
            (Self::Power, [Term::Value(x), Term::Number(0.5)]) => (x, Unary::Sqrt),
            (Self::Power, [Term::Value(x), Term::Number(c)]) => (x, Unary::PowerScalar(c)),
            (Self::Power, [Term::Number(c), Term::Value(x)]) if c > 0.0 => {
                let exponent = at.op(Unary::MultiplyScalar(c.ln()), &[x])?;
                (exponent, Unary::Exp)
            }
            _ => return Ok(None),
        };
        at.op(unary, &[x]).map(Some)
    }
}
