//! Execution: kernels, the reference interpreter they are compared with, the executor that walks a plan, and the one that runs op by op.

pub mod eager;
mod executor;
pub mod kernels;
pub mod philox;
mod program;
pub mod reference;

pub use eager::Eager;
pub use executor::{Executor, ProgramId, Settings, StepError};
