//! The CPU as a backend: kernels in a pool of threads, in the memory of the host.
//!
//! Invariant: nothing is allocated while a program runs. The arena is mapped and views have room when the session is
//! made, kernels take their scratch from the plan, and what they keep a thread is taken with the pool.

use crate::backend::{Backend, BindError, Cause, Fault, Guard, ProgramId, Session};
use crate::bound::{self, BoundStep, run_guarded};
use crate::kernels::{CpuKernels, cpu};
use plimsoll_graph::{ElementType, TensorType};
use plimsoll_memory::{Device, HostArena, Mapping};
use plimsoll_plan::{Profile, Target, VerifiedArena, bytes_of};
use plimsoll_trace::{Bytes, Offset};
use std::ops::Range;
use std::sync::Arc;

/// The CPU's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuBackend {
    /// The size of the thread pool. Results do not depend on it.
    pub threads: usize,
    /// How many of the threads have scratch of their own: the more, the faster are ops that need some, and the larger
    /// is a plan. Results do not depend on it.
    pub lanes: usize,
    /// The size of the arena's pages. The host's memory needs none, but its kernels run in pages all the same, as those
    /// of other devices must.
    pub page: Option<Bytes>,
}

impl CpuBackend {
    /// So many threads, each with scratch of its own, in memory that is one piece.
    pub const fn new(threads: usize) -> Self {
        Self { threads, lanes: threads, page: None }
    }
}

impl Default for CpuBackend {
    /// Every thread of the machine.
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &str {
        "cpu"
    }

    fn target(&self, profile: Profile) -> Target {
        Target { profile, page: self.page, ..Target::new(CpuKernels { lanes: self.lanes }) }
    }

    fn bind(
        &self,
        arena: Arc<VerifiedArena>,
        guards: &[Vec<Guard>],
        device: &Device,
        who: &str,
    ) -> Result<Box<dyn Session>, BindError> {
        let memory = device.arena(who, arena.peak(), arena.page())?.into_host().map_err(|_| {
            BindError::OtherDevice { backend: self.name().to_string(), device: device.name().to_string() }
        })?;
        let pool = start_threads(self.threads)?;
        pool.broadcast(|_| cpu::prepare_thread());
        let (step, guards) = (bound::unbound(arena.plans()), guards.to_vec());
        Ok(Box::new(CpuSession { step, memory, guards, arena, pool, reach: Bytes::ZERO }))
    }
}

/// What the standard library asks for a thread's stack, in addresses.
const STACK: u64 = 2 << 20;

/// Addresses that must be left when all threads run: without any, an allocation ends the process.
const SPARE: u64 = 32 << 20;

/// A pool of so many threads, if the operating system gives them. Their stacks are asked for together first: a thread
/// that starts in the last addresses of the process ends it before anybody can say why.
pub(crate) fn start_threads(threads: usize) -> Result<rayon::ThreadPool, BindError> {
    let refused = |said: String| BindError::Threads { threads, said };
    let stacks = Mapping::lazy(Bytes(threads as u64 * STACK + SPARE));
    drop(stacks.map_err(|error| refused(error.to_string()))?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| refused(error.to_string()))
}

struct CpuSession {
    // Views hold addresses inside the memory, so they are dropped first: fields drop in the order they stand in.
    step: BoundStep,
    memory: HostArena,
    /// For each program, what each step checks.
    guards: Vec<Vec<Guard>>,
    arena: Arc<VerifiedArena>,
    pool: rayon::ThreadPool,
    reach: Bytes,
}

impl Session for CpuSession {
    fn run(&mut self, program: ProgramId, steps: Range<usize>) -> Result<(), Fault> {
        let Self { step, memory, guards, arena, pool, reach } = self;
        let (plan, guards) = (&arena.plans()[program.0], &guards[program.0]);
        // The whole walk runs inside the pool, so that kernels find it and no job crosses from outside at every op.
        pool.install(|| {
            for index in steps {
                bound::bind(step, plan, index, memory);
                step.guard = guards[index];
                *reach = (*reach).max(step.reach);
                run_guarded(plan.graph(), step).map_err(|cause: Cause| Fault { step: index, cause })?;
            }
            Ok(())
        })
    }

    fn write(&mut self, start: Offset, bytes: Bytes, fill: &mut dyn FnMut(&mut [u8])) {
        self.reach = self.reach.max((start + bytes).distance());
        fill(self.memory.bytes_mut(start, bytes));
    }

    fn read(&self, start: Offset, into: &mut [u8]) {
        into.copy_from_slice(self.memory.bytes(start, Bytes(into.len() as u64)));
    }

    fn is_finite(&mut self, start: Offset, tensor: &TensorType) -> bool {
        assert_eq!(tensor.element, ElementType::F32);
        bound::are_finite(bytemuck::cast_slice(self.memory.bytes(start, bytes_of(tensor))))
    }

    fn reach(&self) -> Bytes {
        self.reach
    }
}
