//! The functions of `keras.ops` beyond plain arithmetic, by Keras's classes, with their settings.

use super::{Context, elementwise, moving, pairs, products, reductions, sorting, windows};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// A function by Keras's class. Which settings it looks at is the function's own affair; who makes one gives those that
/// Keras's configuration has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Named {
    /// Keras's class, such as `Cumsum`.
    pub class: String,
    /// Axes, counted from the end if negative; all of them if not given.
    pub axis: Option<Vec<isize>>,
    /// Whether reduced axes stay with extent 1.
    pub keepdims: bool,
    /// Whole numbers: counts, shifts, shapes.
    pub integers: Vec<isize>,
    /// Other numbers: bounds, slopes.
    pub numbers: Vec<f32>,
    /// A word or an equation.
    pub text: String,
    /// Which of several results.
    pub part: usize,
}

impl Named {
    pub(super) fn number(&self, position: usize) -> f32 {
        self.numbers.get(position).copied().unwrap_or(0.0)
    }

    pub(super) fn integer(&self, position: usize) -> isize {
        self.integers.get(position).copied().unwrap_or(0)
    }

    /// The axes as positions, in the order given; all of them if none are given.
    pub(super) fn axes(&self, at: &Context<'_>, x: ValueId) -> Result<Vec<usize>, ShapeError> {
        match &self.axis {
            None => Ok((0..at.shape(x).rank()).collect()),
            Some(axes) => {
                at.axes(axes, x)?;
                axes.iter().map(|&axis| at.axis(axis, x)).collect()
            }
        }
    }

    /// The only axis.
    pub(super) fn one_axis(&self, at: &Context<'_>, x: ValueId) -> Result<usize, ShapeError> {
        match self.axis.as_deref() {
            Some(&[axis]) => at.axis(axis, x),
            _ => Err(at.refusal(&[x], format!("{} takes one axis", self.class))),
        }
    }

    pub(super) fn apply(&self, at: &mut Context<'_>, v: &[ValueId]) -> Result<ValueId, ShapeError> {
        type Group = fn(&Named, &mut Context<'_>, &[ValueId]) -> Result<Option<ValueId>, ShapeError>;
        let groups: [Group; 7] = [
            elementwise::apply,
            pairs::apply,
            reductions::apply,
            sorting::apply,
            moving::apply,
            products::apply,
            windows::apply,
        ];
        for group in groups {
            if let Some(result) = group(self, at, v)? {
                return Ok(result);
            }
        }
        Err(at.refusal(v, format!("{} of {} operands is not supported", self.class, v.len())))
    }
}
