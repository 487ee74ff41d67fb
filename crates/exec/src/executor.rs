//! The executor: runs the plans of a proved arena on whatever device a backend has bound it to.
//!
//! Everything here is the same for all devices: what a run did to memory, whether it kept to the plan, overwriting what
//! is freed, and finding the first value that went wrong. Everything that is not is behind [`Session`].
//!
//! Invariant: nothing is allocated while a step runs; a recording has room for all its events before it begins. (A
//! recorder copies the first run of a program when it is done; later runs cost it nothing.)

use crate::StepError;
use crate::backend::{Backend, BindError, Cause, Fault, Guard, ProgramId, Session, guard, judges_itself};
use crate::lives::Lives;
use plimsoll_graph::{ElementType, Graph, Phase, Source, ValueId};
use plimsoll_memory::Device;
use plimsoll_plan::{Plan, Profile, VerifiedArena, VerifiedPlan, bytes_of};
use plimsoll_trace::{Bytes, Offset, Recorder, Trace};
use std::ops::Range;
use std::sync::Arc;

/// How an executor runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunSettings {
    /// Whether bytes that a plan frees are overwritten with NaNs, to show that nobody reads them.
    pub poison: bool,
    /// Whether steps record what they do to memory.
    pub record: bool,
}

/// Runs plans in one arena. Its programs are the arena's plans, in the same order.
pub struct Executor {
    session: Box<dyn Session>,
    arena: Arc<VerifiedArena>,
    programs: Vec<Program>,
    settings: RunSettings,
    /// Where the persistent values end that are there from the start.
    resident: Bytes,
    recorder: Option<Recorder>,
}

/// What is known of a plan's runs beforehand, and what the last one did.
#[derive(Default)]
struct Program {
    /// Nothing as long as nobody asks what a run does to memory.
    lives: Option<Lives>,
    /// What the last run did to memory, with room for all events of a run where runs are recorded.
    recording: Trace,
}

impl Executor {
    /// Binds an arena to a device. `watched` are, for each plan, values that must be finite whenever they were
    /// computed, on pain of [`StepError::NotFinite`]; plans beyond its end have none.
    pub fn new(
        backend: &dyn Backend,
        arena: VerifiedArena,
        watched: &[Vec<ValueId>],
        device: &Device,
        who: &str,
        settings: RunSettings,
    ) -> Result<Self, BindError> {
        check_target(backend, &arena)?;
        let arena = Arc::new(arena);
        let none = Vec::new();
        let watched = watched.iter().chain(std::iter::repeat(&none));
        let guards: Vec<Vec<Guard>> = arena.plans().iter().zip(watched).map(|(p, w)| guards(p, w)).collect();
        let session = backend.bind(arena.clone(), &guards, device, who)?;
        let mut programs: Vec<Program> = arena.plans().iter().map(|_| Program::default()).collect();
        if settings.poison || settings.record {
            programs.iter_mut().zip(arena.plans()).for_each(|(program, plan)| program.watch(plan));
        }
        let resident = arena.plans().iter().map(resident).max().unwrap_or_default();
        Ok(Self { session, arena, programs, settings, resident, recorder: None })
    }

    /// The programs, in the order of the arena's plans.
    pub fn programs(&self) -> impl Iterator<Item = ProgramId> + use<> {
        (0..self.programs.len()).map(ProgramId)
    }

    /// The graph of a program.
    pub fn graph(&self, program: ProgramId) -> &Graph {
        self.arena.plans()[program.0].graph()
    }

    /// The plan of a program.
    pub fn plan(&self, program: ProgramId) -> &Plan {
        self.arena.plans()[program.0].plan()
    }

    /// The end of the highest buffer that any kernel or caller was given so far.
    pub fn measured_peak(&self) -> Bytes {
        self.resident.max(self.session.reach())
    }

    /// What the last run of a program did to memory, if settings ask for it.
    pub fn recording(&self, program: ProgramId) -> &Trace {
        &self.programs[program.0].recording
    }

    /// From now on runs are recorded, and written when they are done.
    pub fn record_to(&mut self, recorder: Recorder) {
        self.settings.record = true;
        self.programs.iter_mut().zip(self.arena.plans()).for_each(|(program, plan)| program.watch(plan));
        self.recorder = Some(recorder);
    }

    /// Who writes down what runs do, for marks between them.
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut()
    }

    /// Ends the recording.
    pub fn take_recorder(&mut self) -> Option<Recorder> {
        let recorder = self.recorder.take()?;
        self.settings.record = false;
        Some(recorder)
    }

    /// Lets a range of bytes of a value be filled that is there between runs: an input or a persistent value. The whole
    /// range must be filled; it is the arena itself where the device's memory is the host's.
    ///
    /// # Panics
    /// If the value is not stored, or is shorter.
    pub fn write(
        &mut self,
        program: ProgramId,
        value: ValueId,
        bytes: Range<usize>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) {
        let start = self.place(program, value, &bytes);
        self.session.write(start, Bytes(bytes.len() as u64), fill);
    }

    /// Copies bytes of a value out that is there between runs: an input, an output or a persistent value.
    ///
    /// # Panics
    /// If the value is not stored, or is shorter.
    pub fn read(&self, program: ProgramId, value: ValueId, from: usize, into: &mut [u8]) {
        let start = self.place(program, value, &(from..from + into.len()));
        self.session.read(start, into);
    }

    /// Lets the elements of a float32 value be filled.
    ///
    /// # Panics
    /// If it is not float32 or not stored.
    pub fn write_f32(&mut self, program: ProgramId, value: ValueId, mut fill: impl FnMut(&mut [f32])) {
        let length = self.length(program, value, ElementType::F32);
        self.write(program, value, 0..length, &mut |bytes| fill(bytemuck::cast_slice_mut(bytes)));
    }

    /// Lets the elements of an int32 value be filled.
    ///
    /// # Panics
    /// If it is not int32 or not stored.
    pub fn write_i32(&mut self, program: ProgramId, value: ValueId, mut fill: impl FnMut(&mut [i32])) {
        let length = self.length(program, value, ElementType::I32);
        self.write(program, value, 0..length, &mut |bytes| fill(bytemuck::cast_slice_mut(bytes)));
    }

    /// A copy of a float32 value.
    ///
    /// # Panics
    /// If it is not float32 or not stored.
    pub fn read_f32(&self, program: ProgramId, value: ValueId) -> Vec<f32> {
        let mut elements = vec![0.0; self.length(program, value, ElementType::F32) / 4];
        self.read(program, value, 0, bytemuck::cast_slice_mut(&mut elements));
        elements
    }

    /// Runs every step of a program once.
    pub fn run(&mut self, program: ProgramId) -> Result<(), StepError> {
        let steps = self.plan(program).order.len();
        let done = match self.settings.poison {
            false => self.session.run(program, 0..steps),
            true => self.run_poisoned(program, steps),
        };
        if self.settings.record {
            let completed = done.as_ref().map_or_else(|fault| fault.step, |()| steps);
            self.record(program, completed);
        }
        done.map_err(|Fault { step, cause }| self.explain(program, step, cause))
    }

    /// Runs the forward steps of a program with every value checked, and names the first that is not finite. Inputs
    /// must have been written again; nothing persistent changes.
    pub fn find_non_finite(&mut self, program: ProgramId) -> Result<(), StepError> {
        for id in given_values(self.graph(program)) {
            self.check_finite(program, id)?;
        }
        for step in 0..self.plan(program).order.len() {
            let op = self.graph(program).op(self.plan(program).order[step]);
            if op.phase != Phase::Forward {
                continue;
            }
            let outputs = op.outputs.clone();
            let done = self.session.run(program, step..step + 1);
            if let Err(Fault { cause: cause @ Cause::Kernel(_), .. }) = done {
                return Err(self.explain(program, step, cause));
            }
            outputs.into_iter().try_for_each(|output| self.check_finite(program, output))?;
        }
        Ok(())
    }

    /// Step by step, with what a step was the last to touch overwritten after it, except what must survive the run.
    fn run_poisoned(&mut self, program: ProgramId, steps: usize) -> Result<(), Fault> {
        let plan = self.arena.plans()[program.0].plan();
        let survives = |role: plimsoll_graph::Role, end: u32| role.is_persistent() || end as usize == steps;
        for step in 0..steps {
            self.session.run(program, step..step + 1)?;
            let lives = self.programs[program.0].lives.as_ref().expect("settings ask for it");
            for buffer in lives.frees[step].iter().map(|&id| plan.buffer(id)) {
                if !survives(buffer.role, buffer.live.end) {
                    self.session.write(buffer.offset, buffer.bytes, &mut |bytes| bytes.fill(0xff));
                }
            }
        }
        Ok(())
    }

    fn record(&mut self, program: ProgramId, completed: usize) {
        let Program { lives, recording } = &mut self.programs[program.0];
        let lives = lives.as_ref().expect("settings ask for it");
        lives.record(self.arena.plans()[program.0].plan(), completed, recording);
        if let Some(recorder) = &mut self.recorder {
            recorder.ran(program.0, recording);
        }
    }

    fn check_finite(&mut self, program: ProgramId, id: ValueId) -> Result<(), StepError> {
        let plan = &self.arena.plans()[program.0];
        let tensor = plan.graph().tensor(id);
        let start = plan.plan().buffer_of(id).map(|buffer| buffer.offset);
        let start = start.filter(|_| tensor.element == ElementType::F32);
        match start.is_none_or(|start| self.session.is_finite(start, tensor)) {
            true => Ok(()),
            false => Err(StepError::not_finite(plan.graph(), id)),
        }
    }

    fn explain(&self, program: ProgramId, step: usize, cause: Cause) -> StepError {
        StepError::new(self.graph(program), self.plan(program).order[step], cause)
    }

    /// Where bytes of a value begin in the arena.
    fn place(&self, program: ProgramId, value: ValueId, bytes: &Range<usize>) -> Offset {
        let length = bytes_of(self.graph(program).tensor(value));
        assert!(bytes.end as u64 <= length.0, "{} has {length}", self.graph(program).value(value).name);
        let buffer = self.plan(program).buffer_of(value).expect("the value is stored");
        buffer.offset + Bytes(bytes.start as u64)
    }

    /// The length of a value of a known element type, in bytes.
    fn length(&self, program: ProgramId, value: ValueId, element: ElementType) -> usize {
        let tensor = self.graph(program).tensor(value);
        assert_eq!(tensor.element, element, "{}", self.graph(program).value(value).name);
        bytes_of(tensor).as_usize()
    }
}

impl Program {
    /// From now on it is known what runs do to memory, and there is room to write it down.
    fn watch(&mut self, plan: &VerifiedPlan) {
        if self.lives.is_none() {
            let lives = Lives::of(plan.graph(), plan.plan());
            self.recording = lives.room(plan);
            self.lives = Some(lives);
        }
    }
}

/// The float32 values that the caller or an earlier step wrote.
pub(crate) fn given_values(graph: &Graph) -> Vec<ValueId> {
    let given = graph.value_ids().filter(|&id| {
        let value = graph.value(id);
        !matches!(value.source, Source::Op(_)) && value.tensor.element == ElementType::F32
    });
    given.collect()
}

/// A plan for other kernels or another memory must not run, however well it was proved.
fn check_target(backend: &dyn Backend, arena: &VerifiedArena) -> Result<(), BindError> {
    let same = backend.target(Profile::default()).check_same(arena.target());
    let name = || backend.name().to_string();
    same.map_err(|difference| BindError::OtherTarget { backend: name(), difference })
}

fn guards(plan: &VerifiedPlan, watched: &[ValueId]) -> Vec<Guard> {
    let (graph, order) = (plan.graph(), &plan.plan().order);
    match judges_itself(graph) {
        true => vec![Guard::None; order.len()],
        false => order.iter().map(|&id| guard(graph.op(id), watched)).collect(),
    }
}

fn resident(plan: &VerifiedPlan) -> Bytes {
    let persistent = plan.graph().persistents().filter_map(|id| plan.plan().buffer_of(id));
    persistent.map(|buffer| buffer.end().distance()).max().unwrap_or_default()
}
