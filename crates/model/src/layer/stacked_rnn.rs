//! Several recurrent cells on top of each other, one step at a time.

use super::recurrent::CellWeights;
use super::stepwise::{Way, go, turned};
use super::{Context, Lowered, Recurrent, Signal};
use plimsoll_graph::op::Fill;
use plimsoll_graph::{ShapeError, ValueId};
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
}

impl StackedRnn {
    pub(super) fn kind(&self) -> &'static str {
        "rnn"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, _, mut features] = at.extents(x.value)?;
        let mut names: HashMap<&str, usize> = HashMap::new();
        let (mut weights, mut states, mut shown) = (Vec::new(), Vec::new(), 0);
        for cell in &self.cells {
            let earlier = names.entry(cell.cell_name()).or_default();
            let name = match *earlier {
                0 => format!("cells/{}", cell.cell_name()),
                number => format!("cells/{}_{number}", cell.cell_name()),
            };
            *earlier += 1;
            weights.push(cell.weights(at, &name, features)?);
            shown = states.len();
            features = cell.units();
            let zeros = at.op(Fill { shape: [batch, features].into(), value: 0.0 }, &[])?;
            states.extend(vec![zeros; cell.state_count()]);
        }
        if self.cells.is_empty() {
            return Err(at.refusal(&[x.value], "it has no cells".to_string()));
        }
        let way = Way { reverse: self.go_backwards, sequences: self.return_sequences };
        let gone = go(at, x, states, shown, way, |at, x, states| self.step(at, x, states, &weights))?;
        match self.return_sequences && self.go_backwards {
            true => Ok(gone.result.with(turned(at, gone.result.value)?)),
            false => Ok(gone.result),
        }
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
