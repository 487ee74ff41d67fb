//! The CPU as a backend: kernels in a pool of threads, in the memory of the host.
//!
//! Invariant: nothing is allocated while a program runs. The arena is mapped and views are bound when the session is
//! made, kernels take their scratch from the plan, and what they keep a thread is taken with the pool.

use crate::backend::{Backend, BindError, Cause, Fault, Guard, ProgramId, Session};
use crate::bound::{self, BoundStep, run_guarded};
use crate::kernels::{CpuKernels, cpu};
use plimsoll_graph::{ElementType, TensorType};
use plimsoll_memory::{Device, HostArena};
use plimsoll_plan::{Profile, Target, VerifiedArena, bytes_of};
use plimsoll_trace::{Bytes, Offset};
use std::ops::Range;
use std::sync::Arc;

/// The CPU's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuBackend {
    /// The size of the thread pool. Results do not depend on it; a little scratch does.
    pub threads: usize,
    /// The size of the arena's pages. The host's memory needs none, but its kernels run in pages all the same, as those
    /// of other devices must.
    pub page: Option<Bytes>,
}

impl CpuBackend {
    /// So many threads, in memory that is one piece.
    pub fn new(threads: usize) -> Self {
        Self { threads, page: None }
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
        Target { profile, page: self.page, ..Target::new(CpuKernels { threads: self.threads }) }
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
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let pool = pool.expect("the operating system gives us threads");
        pool.broadcast(|_| cpu::prepare_thread());
        Ok(Box::new(CpuSession::bind(arena, guards, memory, pool)))
    }
}

struct CpuSession {
    // Views hold addresses inside the memory, so they are dropped first: fields drop in the order they stand in.
    programs: Vec<Vec<BoundStep>>,
    memory: HostArena,
    arena: Arc<VerifiedArena>,
    pool: rayon::ThreadPool,
    reach: Bytes,
}

impl CpuSession {
    fn bind(
        arena: Arc<VerifiedArena>,
        guards: &[Vec<Guard>],
        mut memory: HostArena,
        pool: rayon::ThreadPool,
    ) -> Self {
        let plans = arena.plans().iter().zip(guards);
        let programs = plans.map(|(plan, guards)| bound::bind(plan, guards, &mut memory)).collect();
        Self { programs, memory, arena, pool, reach: Bytes::ZERO }
    }
}

impl Session for CpuSession {
    fn run(&mut self, program: ProgramId, steps: Range<usize>) -> Result<(), Fault> {
        let Self { programs, arena, pool, reach, .. } = self;
        let graph = arena.plans()[program.0].graph();
        let first = steps.start;
        let steps = &mut programs[program.0][steps];
        // The whole walk runs inside the pool, so that kernels find it and no job crosses from outside at every op.
        pool.install(|| {
            for (index, step) in steps.iter_mut().enumerate() {
                *reach = (*reach).max(step.reach);
                run_guarded(graph, step).map_err(|cause: Cause| Fault { step: first + index, cause })?;
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
