//! A line that says what a prepared job is, and how its parameters are counted.

use crate::{Job, Prepared};
use plimsoll_graph::Role;
use plimsoll_trace::visible;

impl Prepared {
    /// What it is, in a line: `cnn · 8x8x1 · batch 32 · adam · float32 · 72.8 k parameters`.
    pub fn headline(&self) -> String {
        let Job { model, batch, optimizer, .. } = &self.job;
        let extents = model.inputs.first().map(|input| input.shape.extents()).unwrap_or_default();
        let size: Vec<String> = extents.iter().map(usize::to_string).collect();
        let name = visible::line(&model.name);
        let (size, count) = (size.join("x"), in_thousands(self.parameters()));
        format!("{name} · {size} · batch {batch} · {optimizer} · float32 · {count} parameters")
    }

    /// All parameters, as Keras counts them.
    pub fn parameters(&self) -> usize {
        self.trainable_parameters() + self.step().graph().elements_of(Role::Statistic)
    }

    /// The parameters that are trained.
    pub fn trainable_parameters(&self) -> usize {
        self.step().graph().elements_of(Role::Parameter)
    }
}

fn in_thousands(count: usize) -> String {
    match count as f64 {
        count if count < 1e6 => format!("{:.1} k", count / 1e3),
        count => format!("{:.1} M", count / 1e6),
    }
}
