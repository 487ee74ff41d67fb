//! What recurrent layers begin with, and what they leave for the next batch.

use super::{Context, Signal};
use plimsoll_graph::op::Fill;
use plimsoll_graph::{Shape, ShapeError, ValueId};

/// What the states of stateful layers are called, as in Keras. They are no weights: no file of Keras has them.
const STATE: &str = "rnn_state";

/// Whether a persistent value is a state that goes on from batch to batch.
pub(crate) fn is_state(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|own| own.starts_with(STATE))
}

/// The states that a recurrent layer begins with: those it is given, or where the batch before ended if it is stateful,
/// or zeros.
pub(super) struct Begun {
    pub(super) states: Vec<ValueId>,
    /// Whether the states are zeros.
    pub(super) zeros: bool,
    /// What the states are kept in from batch to batch.
    kept: Vec<ValueId>,
}

impl Begun {
    /// The states of these shapes. A stateful layer says what the names of its states begin with.
    pub(super) fn new(
        at: &mut Context<'_>,
        given: &[Signal],
        shapes: &[Shape],
        stateful: Option<&str>,
    ) -> Result<Self, ShapeError> {
        let given: Vec<ValueId> = given.iter().map(|state| state.value).collect();
        if !given.is_empty() && given.len() != shapes.len() {
            let problem = format!("it begins with {} states, not {}", shapes.len(), given.len());
            return Err(at.refusal(&given, problem));
        }
        let mut kept = Vec::new();
        for (number, shape) in shapes.iter().enumerate() {
            if let Some(prefix) = stateful {
                kept.push(at.carried(&format!("{prefix}{STATE}_{number}"), shape)?);
            }
        }
        let states = if given.is_empty() { kept.clone() } else { given };
        match states.is_empty() {
            true => Ok(Self { states: zeros(at, shapes)?, zeros: true, kept }),
            false => Ok(Self { states, zeros: false, kept }),
        }
    }

    /// Leaves the states after the last step for the next batch.
    pub(super) fn leave(&self, at: &mut Context<'_>, states: &[ValueId]) -> Result<(), ShapeError> {
        self.kept.iter().zip(states).try_for_each(|(&kept, &state)| at.follow(kept, 0.0, state))
    }
}

/// Zeros of these shapes; one value serves all states of a shape.
fn zeros(at: &mut Context<'_>, shapes: &[Shape]) -> Result<Vec<ValueId>, ShapeError> {
    let mut states: Vec<ValueId> = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let same = states.iter().copied().find(|&state| at.shape(state) == shape);
        states.push(match same {
            Some(state) => state,
            None => at.op(Fill { shape: shape.clone(), value: 0.0 }, &[])?,
        });
    }
    Ok(states)
}
