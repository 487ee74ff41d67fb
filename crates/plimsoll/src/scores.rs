//! What a step or an evaluation says about a model: its total loss, and the loss and accuracy of each head.

use plimsoll_train::HeadValues;
use serde::Serialize;

/// How good a model is.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// What is minimized: the weighted sum over the heads, with what the model's regularizers add.
    pub loss: f32,
    /// Each output that is trained.
    pub heads: Vec<HeadScore>,
}

/// How good one output is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadScore {
    /// What the output is called.
    pub output: String,
    /// Its loss, before it is multiplied by the head's weight.
    pub loss: f32,
    /// The share that was predicted right, for losses that have classes.
    pub accuracy: Option<f32>,
}

impl Scores {
    /// The accuracy of the first head that has one.
    pub fn accuracy(&self) -> Option<f32> {
        self.heads.iter().find_map(|head| head.accuracy)
    }

    /// Nothing so far.
    pub(crate) fn zero(heads: &[HeadValues]) -> Self {
        let head = |head: &HeadValues| HeadScore {
            output: head.output.clone(),
            loss: 0.0,
            accuracy: head.accuracy.map(|_| 0.0),
        };
        Self { loss: 0.0, heads: heads.iter().map(head).collect() }
    }

    /// Adds what a part of the samples says, which has this share of them.
    pub(crate) fn add(&mut self, part: &Self, share: f32) {
        self.loss += share * part.loss;
        for (head, part) in self.heads.iter_mut().zip(&part.heads) {
            head.loss += share * part.loss;
            head.accuracy = head.accuracy.zip(part.accuracy).map(|(sum, right)| sum + share * right);
        }
    }
}
