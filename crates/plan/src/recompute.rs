//! Recomputation: values that are dropped and computed again where they are needed.
//!
//! In: a graph, what each op costs, and a budget. Out: a graph that computes the same and whose ops run in an order
//! with fewer bytes live at once, because some of them run again. A value computed again is a value of its own, so a
//! plan needs to know nothing about recomputation.
//!
//! Method, one file each: [`Problem`] leaves out of a graph what plays no part; a [`schedule`] follows from a decision
//! for each gap between two uses; [`search()`] looks for cheap decisions; [`rewrite()`] writes a schedule as a graph;
//! [`verify_same`] proves that it computes the same; [`plan_within`] does all of it until a placed plan fits.

mod floor;
mod ladder;
mod ledger;
mod lists;
mod order;
mod problem;
mod rewrite;
mod same;
pub mod schedule;
mod search;
mod segments;
mod walk;
mod within;

pub use order::settled;
pub use problem::{Item, Problem, Task};
pub use rewrite::{Rewritten, rewrite};
pub use same::{Difference, verify_same};
pub use search::{Found, search, search_from};
pub use within::{Looked, Planner, Setting, Within, frontier, plan_within};
