//! Predictions against TensorFlow: the table that the README states.

mod measured;
mod models;
