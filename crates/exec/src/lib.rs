//! Execution: kernels, the reference interpreter they are compared with, and the executor that walks a plan.

mod executor;
pub mod kernels;
pub mod philox;
mod program;
pub mod reference;

pub use executor::{Executor, ProgramId, Settings, StepError};
