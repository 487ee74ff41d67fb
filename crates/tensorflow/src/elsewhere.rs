//! Settings that predictions are not made for, and how far measured steps were off there.
//!
//! What is predicted is a step on one thread without oneDNN, whose kernels run in an order that is known. With other
//! settings the same steps were measured (`bench/peers/tensorflow_memory/settings_measured.csv`); a test computes the
//! figures here from it.

use serde::Serialize;

/// How far steps with some settings are from the same steps as they are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// The settings.
    pub settings: &'static str,
    /// By how much the live peak of the step that gained most was below, in per cent.
    pub less_percent: u32,
    /// By how much that of the step that lost most was above, in per cent.
    pub more_percent: u32,
    /// How many steps were measured.
    pub steps: u32,
}

/// What users have who set nothing on a CPU, and what Keras does by itself on a GPU.
pub const ELSEWHERE: [Elsewhere; 2] = [
    Elsewhere {
        settings: "with oneDNN and several threads, which is TensorFlow's default",
        less_percent: 54,
        more_percent: 8,
        steps: 16,
    },
    Elsewhere {
        settings: "compiled by XLA (jit_compile=True)",
        less_percent: 26,
        more_percent: 73,
        steps: 15,
    },
];
