//! The Plan document: when each op runs and where every byte lives.
//!
//! In: a graph, and what the plan is for ([`Target`]). Out: a [`Plan`] with an offset for every buffer, its peak and
//! its floor, and a [`verify_arena`] that proves the plans that share an arena by running them on paper. Only plans
//! that passed become a [`VerifiedArena`], the only thing `exec` takes.
//!
//! Method, one file each: [`order`] the ops, share storage between values and find live ranges ([`buffers`]),
//! [`place()`] the buffers, [`predict()`] the trace.

mod arena;
pub mod buffers;
mod kernels;
pub mod order;
pub mod place;
mod plan;
mod plan_error;
mod predict;
mod profile;
pub mod recompute;
mod target;
mod usage;
mod verify;
mod work;

pub use arena::{VerifiedArena, verify_arena};
pub use kernels::{Kernels, bytes_of};
pub use place::{Interval, Placement, place};
pub use plan::{Buffer, BufferId, Options, Plan, Residents, plan};
pub use plan_error::PlanError;
pub use predict::{labels, predict};
pub use profile::{Class, Cost, Effort, Profile};
pub use target::Target;
pub use usage::{Holding, Usage, usage};
pub use verify::VerifiedPlan;
pub(crate) use verify::verify;
pub use work::{TRANSCENDENTAL, Work, graph_work, work};
