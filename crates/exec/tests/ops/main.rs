//! Every op: its kernel against the reference, its gradient against finite differences.

#[allow(missing_docs)]
mod check;
mod elementwise;
mod images;
mod movement;
mod reductions;
mod sequences;
mod updates;
