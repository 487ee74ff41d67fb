//! The seam between the executor and a device: everything that differs from one kind of kernels to another is behind
//! these two traits.
//!
//! A [`Backend`] says what plans for it must look like ([`Target`]) and binds a proved arena to a device. What it gives
//! is a [`Session`]: the arena, mapped, with every program of it ready to run. The executor knows nothing else of a
//! device, and everything above it knows only the executor.
//!
//! What a session may rely on, since a [`VerifiedArena`] has been proved for the backend's own target:
//! - every buffer lies inside the arena, at a multiple of the target's alignment, and crosses no multiple of its page
//!   size, so each page can be memory of its own;
//! - no buffer is larger than the target's binding; each kernel has the scratch that it asked for;
//! - ops run in the order of the plan, one after another, and one program at a time.
//!
//! What a session must keep: it takes no memory while a program runs, the same inputs give the same bits in every
//! run, and it does not go beyond what it was given: [`Session::reach`] is compared with the plan's peak after every
//! run. Nobody sees an address. What is read and written are ranges of the arena, each within one buffer; a device that
//! cannot be written in place lets callers fill a copy and sends it.

use crate::CpuBackend;
use crate::kernels::KernelError;
use plimsoll_graph::{Graph, Op, OpKind, TensorType, ValueId};
use plimsoll_memory::{Device, OutOfMemory};
use plimsoll_plan::{PlanError, Profile, Target, VerifiedArena};
use plimsoll_trace::{Bytes, Offset};
use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Whether a graph looks by itself whether everything is finite; it goes on where it is not.
pub(crate) fn judges_itself(graph: &Graph) -> bool {
    graph.ops().iter().any(|op| matches!(op.kind, OpKind::AllFinite(_)))
}

/// What is checked to be finite in every run of an op, in a graph that does not judge itself.
pub(crate) fn guard(op: &Op, watched: &[ValueId]) -> Guard {
    let is_update = matches!(op.kind, OpKind::Update(_));
    // An update reads the gradient as its second input, and a non-finite one would ruin the parameter for good.
    if is_update {
        return Guard::Input(1);
    }
    op.outputs.iter().position(|output| watched.contains(output)).map_or(Guard::None, Guard::Output)
}

/// A kind of kernels and the devices they run on.
pub trait Backend: Any + Debug + Send + Sync {
    /// What people call it, such as `cpu`.
    fn name(&self) -> &str;

    /// What plans for it are for, where kernels are as fast as the profile says.
    fn target(&self, profile: Profile) -> Target;

    /// Maps an arena on a device for somebody and makes every program of it ready to run. The arena was proved for this
    /// backend's target; `guards` has a list for each of its plans, with what each step checks.
    fn bind(
        &self,
        arena: Arc<VerifiedArena>,
        guards: &[Vec<Guard>],
        device: &Device,
        who: &str,
    ) -> Result<Box<dyn Session>, BindError>;
}

/// A mapped arena with programs that are ready to run. Its plans are its programs, in the same order.
pub trait Session: Send {
    /// Runs some steps of a program, in order, and waits until they are done.
    ///
    /// Guards are checked by the device. The fault is that of the first step that has one. An op whose input is guarded
    /// and not finite does not run, and neither does any op after a fault, as far as anybody can see: what is
    /// persistent is as the steps before left it.
    fn run(&mut self, program: ProgramId, steps: Range<usize>) -> Result<(), Fault>;

    /// Lets a range be filled, which must be filled whole: what `fill` finds there is undefined. Where the device's
    /// memory is the host's, it gets the arena itself. The bytes it gets begin at a multiple of four if the range does.
    fn write(&mut self, start: Offset, bytes: Bytes, fill: &mut dyn FnMut(&mut [u8]));

    /// Copies a range out.
    fn read(&self, start: Offset, into: &mut [u8]);

    /// Whether all elements of a float32 tensor that begins at an offset are finite, as the device finds.
    fn is_finite(&mut self, start: Offset, tensor: &TensorType) -> bool;

    /// The end of the highest range that a kernel or a caller was given to write or a kernel to read so far.
    fn reach(&self) -> Bytes;
}

/// Names a program of one executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId(pub(crate) usize);

/// Which tensor of an op must be finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// None is looked at.
    None,
    /// This input, before the op runs: a gradient that is about to be applied.
    Input(usize),
    /// This output, after the op has run: a loss.
    Output(usize),
}

/// Where a run stopped and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The step of the program.
    pub step: usize,
    /// What was found there.
    pub cause: Cause,
}

/// What a device found wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A kernel refused its inputs.
    Kernel(KernelError),
    /// A guarded value is not finite.
    NotFinite(ValueId),
}

/// Why an arena could not be bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BindError {
    /// The device does not have the memory.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The operating system does not give so many threads.
    #[error("the operating system refused to start {threads} threads: {said}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What it said.
        said: String,
    },
    /// The kernels cannot use the device's memory.
    #[error("{device} is a device that the backend `{backend}` cannot use")]
    OtherDevice {
        /// The backend.
        backend: String,
        /// The device.
        device: String,
    },
    /// The arena was proved for other kernels or another memory.
    #[error("the backend `{backend}` cannot run the plan: {difference}")]
    OtherTarget {
        /// The backend.
        backend: String,
        /// In what the targets differ.
        difference: PlanError,
    },
}

impl dyn Backend {
    /// The backend as the CPU's, if it is that: eager mode and what is said about threads make sense there only.
    pub fn cpu(&self) -> Option<&CpuBackend> {
        (self as &dyn Any).downcast_ref()
    }
}

impl ProgramId {
    /// The program of a plan, by its position in the arena.
    pub const fn of(position: usize) -> Self {
        Self(position)
    }

    /// The position of its plan in the arena.
    pub fn position(self) -> usize {
        self.0
    }
}
