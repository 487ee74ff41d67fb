//! Several recurrent cells on top of each other, one step at a time.

use super::begun::Begun;
use super::recurrent::CellWeights;
use super::stepwise::{Way, go};
use super::{Context, Lowered, Recurrent, Signal};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Keras's `RNN` of `StackedRNNCells`: at every step each cell reads what the one below it gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackedRnn {
    /// The cells, from the lowest to the highest. What they return is decided here.
    pub cells: Vec<Recurrent>,
    /// Whether the result is that of every position rather than of the last one.
    pub return_sequences: bool,
    /// Whether time runs from the last position to the first.
    pub go_backwards: bool,
    /// Whether a batch begins with the states that the one before it ended with.
    #[serde(default)]
    pub stateful: bool,
    /// Whether the result is 0 at padding, rather than what it was before.
    #[serde(default)]
    pub zero_output_for_mask: bool,
}

impl StackedRnn {
    pub(super) fn kind(&self) -> &'static str {
        "rnn"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, _, mut features] = at.extents(x.value)?;
        let mut names: HashMap<&str, usize> = HashMap::new();
        let (mut weights, mut shapes, mut shown) = (Vec::new(), Vec::new(), 0);
        for cell in &self.cells {
            let earlier = names.entry(cell.cell_name()).or_default();
            let name = match *earlier {
                0 => format!("cells/{}", cell.cell_name()),
                number => format!("cells/{}_{number}", cell.cell_name()),
            };
            *earlier += 1;
            weights.push(cell.weights(at, &name, features)?);
            shown = shapes.len();
            features = cell.units();
            shapes.extend(vec![Shape::new([batch, features]); cell.state_count()]);
        }
        if self.cells.is_empty() {
            return Err(at.refusal(&[x.value], "it has no cells".to_string()));
        }
        let begun = Begun::new(at, &[], &shapes, self.stateful.then_some(""))?;
        let way = Way {
            reverse: self.go_backwards,
            sequences: self.return_sequences,
            zero_output_for_mask: self.zero_output_for_mask,
        };
        let gone = go(at, x, &begun, shown, way, |at, x, states| self.step(at, x, states, &weights))?;
        gone.finished(at, way, false)
    }

    fn step(
        &self,
        at: &mut Context<'_>,
        mut x: ValueId,
        states: &[ValueId],
        weights: &[CellWeights],
    ) -> Result<Vec<ValueId>, ShapeError> {
        let (mut after, mut rest) = (Vec::with_capacity(states.len()), states);
        for (cell, weights) in self.cells.iter().zip(weights) {
            let (own, others) = rest.split_at(cell.state_count());
            rest = others;
            let new = cell.step(at, x, own, weights)?;
            x = new[0];
            after.extend(new);
        }
        Ok(after)
    }
}
