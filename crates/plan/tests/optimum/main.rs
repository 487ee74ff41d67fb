//! The search for what to compute again, held against proven optima and against a slow recount.

mod golden;
mod random;
mod recount;
