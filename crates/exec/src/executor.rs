//! The executor: walks verified plans in one arena.
//!
//! Invariant: nothing is allocated while a step runs. The arena is mapped when the executor is made, views are bound when a program
//! is loaded, kernels take their scratch from the plan, what they keep a thread is taken with the pool, and a recording has room for all its events
//! before it begins. (A recorder copies the first run of a program when it is done; later runs cost it nothing.)

use crate::eager::Shortage;
use crate::kernels::{Call, Input, KernelError, cpu};
use crate::program::{BoundStep, Guard, Program};
use plimsoll_graph::{ElementType, Graph, OpId, Source, ValueId};
use plimsoll_memory::{Device, HostArena, OutOfMemory};
use plimsoll_plan::{Plan, VerifiedPlan, bytes_of};
use plimsoll_trace::{BlockId, Bytes, Event, LabelId, Offset, Recorder, Time, Trace};
use std::ops::Range;

/// How an executor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The size of the thread pool; results do not depend on it.
    pub threads: usize,
    /// Whether bytes that a plan frees are overwritten with NaNs, to show that nobody reads them.
    pub poison: bool,
    /// Whether steps record what they do to memory.
    pub record: bool,
}

/// Names a program of one executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId(pub(crate) usize);

/// Why a step stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A kernel refused its inputs.
    #[error("{layer}: {error}")]
    Kernel {
        /// The layer it belongs to.
        layer: String,
        /// What it found.
        error: KernelError,
    },
    /// A value that must be finite is not.
    #[error("{value} is not finite")]
    NotFinite {
        /// Its name.
        value: String,
        /// The layer it belongs to, or nothing.
        layer: String,
        /// The op that computed it, or nothing if it was given.
        op: String,
    },
    /// An eager step asked its allocator for more than there is.
    #[error(transparent)]
    OutOfMemory(Box<Shortage>),
}

/// Runs plans in one arena.
pub struct Executor {
    // Programs hold addresses inside the arena, so they are dropped first: fields drop in the order they stand in.
    programs: Vec<Program>,
    arena: HostArena,
    pool: rayon::ThreadPool,
    settings: Settings,
    high_water: Bytes,
    recorder: Option<Recorder>,
}

impl Executor {
    /// Maps an arena on the device and starts the pool.
    pub fn new(device: &Device, who: &str, capacity: Bytes, settings: Settings) -> Result<Self, OutOfMemory> {
        let arena = device.arena(who, capacity, None)?;
        let arena = arena.into_host().expect("kernels of the CPU work in the memory of the host");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.threads).build();
        let pool = pool.expect("the operating system gives us threads");
        pool.broadcast(|_| cpu::prepare_thread());
        Ok(Self { programs: Vec::new(), arena, pool, settings, high_water: Bytes::ZERO, recorder: None })
    }

    /// Binds a plan to the arena; `watched` are values that must be finite whenever they were computed, on pain of
    /// [`StepError::NotFinite`].
    ///
    /// # Panics
    /// If the plan's peak is beyond the arena.
    pub fn load(&mut self, plan: VerifiedPlan, watched: &[ValueId]) -> ProgramId {
        let persistent = plan.graph().persistents().filter_map(|id| plan.plan().buffer_of(id));
        let reach = persistent.map(|buffer| buffer.end().distance()).max().unwrap_or_default();
        self.high_water = self.high_water.max(reach);
        self.programs.push(Program::bind(plan, &mut self.arena, watched));
        ProgramId(self.programs.len() - 1)
    }

    /// The graph of a program.
    pub fn graph(&self, program: ProgramId) -> &Graph {
        self.programs[program.0].plan.graph()
    }

    /// The plan of a program.
    pub fn plan(&self, program: ProgramId) -> &Plan {
        self.programs[program.0].plan.plan()
    }

    /// The end of the highest buffer that any kernel or caller was given so far.
    pub fn measured_peak(&self) -> Bytes {
        self.high_water
    }

    /// What the arena holds above an offset; for showing that nothing was written there.
    pub fn bytes_above(&self, offset: Bytes) -> &[u8] {
        let capacity = self.arena.capacity();
        self.arena.bytes(Offset::START + offset, capacity - offset)
    }

    /// What the last run of a program did to memory, if settings ask for it.
    pub fn recording(&self, program: ProgramId) -> &Trace {
        &self.programs[program.0].recording
    }

    /// From now on runs are recorded, and written when they are done.
    pub fn record_to(&mut self, recorder: Recorder) {
        self.settings.record = true;
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

    /// Lets a range of bytes of a value be filled that is there between runs: an input or a persistent value. The whole range must be filled.
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
        let (start, length) = self.place(program, value, &bytes);
        self.note(start, length);
        fill(self.arena.bytes_mut(start, length));
    }

    /// Copies bytes of a value out that is there between runs: an input, an output or a persistent value.
    ///
    /// # Panics
    /// If the value is not stored, or is shorter.
    pub fn read(&self, program: ProgramId, value: ValueId, from: usize, into: &mut [u8]) {
        let (start, length) = self.place(program, value, &(from..from + into.len()));
        into.copy_from_slice(self.arena.bytes(start, length));
    }

    /// A float32 value that is there between runs: an input, an output or a persistent value.
    ///
    /// # Panics
    /// If it is not float32 or not stored.
    pub fn f32(&self, program: ProgramId, value: ValueId) -> &[f32] {
        let (offset, bytes) = self.range(program, value, ElementType::F32);
        bytemuck::cast_slice(self.arena.bytes(offset, bytes))
    }

    /// The same, to be written.
    ///
    /// # Panics
    /// If it is not float32 or not stored.
    pub fn f32_mut(&mut self, program: ProgramId, value: ValueId) -> &mut [f32] {
        let (offset, bytes) = self.range(program, value, ElementType::F32);
        self.note(offset, bytes);
        bytemuck::cast_slice_mut(self.arena.bytes_mut(offset, bytes))
    }

    /// An int32 value, to be written.
    ///
    /// # Panics
    /// If it is not int32 or not stored.
    pub fn i32_mut(&mut self, program: ProgramId, value: ValueId) -> &mut [i32] {
        let (offset, bytes) = self.range(program, value, ElementType::I32);
        self.note(offset, bytes);
        bytemuck::cast_slice_mut(self.arena.bytes_mut(offset, bytes))
    }

    /// Runs every step of a program once.
    pub fn run(&mut self, program: ProgramId) -> Result<(), StepError> {
        let Self { programs, pool, arena, high_water, settings, recorder } = self;
        let Program { plan, steps, recording } = &mut programs[program.0];
        recording.events.clear();
        // The whole walk runs inside the pool, so that kernels find it and no job crosses from outside at every op.
        let done = pool.install(|| {
            for (time, step) in steps.iter_mut().enumerate() {
                if settings.record {
                    record_takes(recording, plan.plan(), step, time);
                }
                *high_water = (*high_water).max(step.reach);
                run_guarded(plan.graph(), step)?;
                if settings.record {
                    record_frees(recording, step, time);
                }
                if settings.poison {
                    poison(arena, plan.plan(), step);
                }
            }
            Ok(())
        });
        if let Some(recorder) = recorder {
            recorder.ran(program.0, recording);
        }
        done
    }

    /// Runs the forward steps of a program with every value checked, and names the first that is not finite. Inputs must
    /// have been written again; nothing persistent changes.
    pub fn find_non_finite(&mut self, program: ProgramId) -> Result<(), StepError> {
        for id in given_values(self.graph(program)) {
            if self.f32(program, id).iter().any(|x| !x.is_finite()) {
                return Err(not_finite(self.graph(program), id, None));
            }
        }
        let Self { programs, pool, .. } = self;
        let Program { plan, steps, .. } = &mut programs[program.0];
        pool.install(|| {
            for step in steps.iter_mut().filter(|step| step.is_forward(plan.graph())) {
                run_step(plan.graph(), step)?;
                check_outputs(plan.graph(), step)?;
            }
            Ok(())
        })
    }

    fn range(&self, program: ProgramId, value: ValueId, element: ElementType) -> (Offset, Bytes) {
        let tensor = self.graph(program).tensor(value);
        assert_eq!(tensor.element, element, "{}", self.graph(program).value(value).name);
        let buffer = self.plan(program).buffer_of(value).expect("the value is stored");
        (buffer.offset, bytes_of(tensor))
    }

    fn place(&self, program: ProgramId, value: ValueId, bytes: &Range<usize>) -> (Offset, Bytes) {
        let length = bytes_of(self.graph(program).tensor(value));
        assert!(bytes.end as u64 <= length.0, "{} has {length}", self.graph(program).value(value).name);
        let buffer = self.plan(program).buffer_of(value).expect("the value is stored");
        (buffer.offset + Bytes(bytes.start as u64), Bytes(bytes.len() as u64))
    }

    fn note(&mut self, offset: Offset, bytes: Bytes) {
        self.high_water = self.high_water.max((offset + bytes).distance());
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

/// Names the first output of a step that is not finite.
pub(crate) fn check_outputs(graph: &Graph, step: &mut BoundStep) -> Result<(), StepError> {
    for (output, &value) in step.outputs.iter_mut().zip(&graph.op(step.op).outputs) {
        if output.tensor().element == ElementType::F32 && output.f32().iter().any(|x| !x.is_finite()) {
            return Err(not_finite(graph, value, Some(step.op)));
        }
    }
    Ok(())
}

pub(crate) fn run_guarded(graph: &Graph, step: &mut BoundStep) -> Result<(), StepError> {
    let op = graph.op(step.op);
    if let Guard::Input(index) = step.guard
        && !is_finite(&step.inputs[index])
    {
        let source = &graph.value(op.inputs[index]).source;
        let producer = if let Source::Op(id) = source { Some(*id) } else { None };
        return Err(not_finite(graph, op.inputs[index], producer));
    }
    run_step(graph, step)?;
    match step.guard {
        Guard::Output(index) if step.outputs[index].f32().iter().any(|x| !x.is_finite()) => {
            Err(not_finite(graph, op.outputs[index], Some(step.op)))
        }
        _ => Ok(()),
    }
}

fn is_finite(input: &Input) -> bool {
    // A sum of zeros times the elements is NaN if one of them is not finite, and vectorises.
    let probe = |elements: &[f32]| elements.iter().fold(0.0f32, |sum, x| sum + x * 0.0);
    input.f32().chunks(1 << 12).all(|chunk| probe(chunk) == 0.0)
}

fn run_step(graph: &Graph, step: &mut BoundStep) -> Result<(), StepError> {
    let op = graph.op(step.op);
    if op.kind.is_view() {
        return Ok(());
    }
    let scratch = step.scratch.as_mut().map_or(&mut [][..], |scratch| scratch.f32());
    let call = Call { inputs: &step.inputs, outputs: &mut step.outputs, scratch };
    cpu::run(&op.kind, call).map_err(|error| {
        let layer = op.layer.map_or(op.kind.name(), |layer| graph.layer_name(layer));
        StepError::Kernel { layer: layer.to_string(), error }
    })
}

pub(crate) fn not_finite(graph: &Graph, value: ValueId, op: Option<OpId>) -> StepError {
    let layer = graph.value(value).layer.map_or("", |layer| graph.layer_name(layer)).to_string();
    let op = op.map_or("", |op| graph.op(op).kind.name()).to_string();
    StepError::NotFinite { value: graph.value(value).name.clone(), layer, op }
}

fn record_takes(recording: &mut Trace, plan: &Plan, step: &BoundStep, time: usize) {
    for &id in &step.takes {
        let buffer = plan.buffer(id);
        recording.events.push(Event::Take {
            time: Time(time as u32),
            block: BlockId(id.0),
            offset: buffer.offset,
            bytes: buffer.bytes,
            label: LabelId(id.0),
        });
    }
}

fn record_frees(recording: &mut Trace, step: &BoundStep, time: usize) {
    for &id in &step.frees {
        recording.events.push(Event::Free { time: Time(time as u32), block: BlockId(id.0) });
    }
}

/// Overwrites what this step was the last to touch, except what must survive the run.
fn poison(arena: &mut HostArena, plan: &Plan, step: &BoundStep) {
    for &id in &step.frees {
        let buffer = plan.buffer(id);
        let survives = buffer.role.is_persistent() || buffer.live.end as usize == plan.order.len();
        if !survives {
            arena.bytes_mut(buffer.offset, buffer.bytes).fill(0xff);
        }
    }
}
