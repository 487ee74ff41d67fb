//! Execution: the executor that runs proved plans on a device, the seam behind which devices stand, the CPU as the
//! first of them with its kernels, the reference interpreter these are compared with, and the executor that runs op by
//! op.

mod backend;
mod bound;
mod cpu;
mod digits;
pub mod eager;
mod executor;
pub mod kernels;
mod lives;
pub mod reference;
mod step_error;

pub use backend::{Backend, BindError, Cause, Fault, Guard, ProgramId, Session};
pub use cpu::CpuBackend;
pub use eager::Eager;
pub use executor::{Executor, RunSettings};
pub use plimsoll_graph::philox;
pub use step_error::StepError;
