//! Eager execution: op by op, each tensor and each kernel's scratch taken from the device's allocator and freed after
//! its last use, as TensorFlow's eager mode does. The kernels are the planned executor's, so the numbers are the same
//! bits.
//!
//! Several graphs can be loaded, such as one model at several batch sizes; they share what is persistent, by name. A
//! step that runs out of memory ends with a [`Shortage`], gives everything it took back, and has updated nothing: the
//! next can run.

mod compact;
mod pool;
mod residents;
mod script;
mod shortage;
mod views;

pub use compact::Compaction;
pub use pool::{Held, MakeAllocator, Pool};
pub use shortage::Shortage;

use crate::backend::{BindError, ProgramId};
use crate::bound::{check_outputs, run_guarded};
use crate::cpu::start_threads;
use crate::executor::{RunSettings, given_values};
use crate::kernels::CpuKernels;
use crate::step_error::StepError;
use plimsoll_graph::{ElementType, Graph, OpId, Phase, ValueId};
use plimsoll_memory::{Device, Refusal, Statistics};
use plimsoll_trace::{LabelId, Recorder, Trace};
use residents::Residents;
use script::{Script, bytes};
use std::ops::Range;
use std::time::Duration;

/// Runs graphs op by op on a device with an allocator.
pub struct Eager {
    scripts: Vec<Script>,
    residents: Residents,
    pool: Pool,
    threads: rayon::ThreadPool,
    /// Why contents were lost: a compaction could not put them back. Nothing runs after that.
    lost: Option<Box<Shortage>>,
    recorder: Option<Recorder>,
}

/// When updates run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// After everything else, as in TensorFlow's eager mode: a step that runs out of memory has updated nothing.
    AtTheEnd,
    /// As soon as they may, so that gradients are freed early: right where a failed step's updates are thrown away.
    WhenReady,
}

/// Why a walk over a script ended early.
enum Stop {
    Refused(Refusal, LabelId),
    Failed(StepError),
}

/// What a walk checks and runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// Everything; losses and gradients are checked.
    Step,
    /// The forward pass; every value is checked.
    Search,
}

impl Eager {
    /// A device without blocks, whose memory must be the host's, and a pool of so many threads.
    pub fn new(
        device: &Device,
        make: MakeAllocator,
        threads: usize,
        settings: RunSettings,
    ) -> Result<Self, BindError> {
        let threads = start_threads(threads)?;
        let mut pool = Pool::new(device, make);
        pool.watch(settings.record, settings.poison);
        let (scripts, residents) = (Vec::new(), Residents::default());
        Ok(Self { scripts, residents, pool, threads, lost: None, recorder: None })
    }

    /// Gets a graph ready and takes blocks of zeros for those of its persistent values that are not there yet.
    /// `watched` are values that must be finite whenever they were computed.
    pub fn load(&mut self, graph: Graph, watched: &[ValueId]) -> Result<ProgramId, StepError> {
        self.load_with(graph, watched, Updates::AtTheEnd)
    }

    /// The same, with a choice of when updates run.
    pub fn load_with(
        &mut self,
        graph: Graph,
        watched: &[ValueId],
        updates: Updates,
    ) -> Result<ProgramId, StepError> {
        let before = self.residents.count();
        for id in graph.persistents() {
            let label = script::label(&graph, id);
            if let Err((refusal, label)) = self.residents.add(graph.tensor(id), label, &mut self.pool) {
                let shortage = self.shortage(refusal, label);
                self.residents.shorten(before, &mut self.pool);
                return Err(shortage);
            }
        }
        let kernels = CpuKernels { lanes: self.threads.current_num_threads() };
        let script = Script::new(graph, watched, updates, kernels, &self.residents, &mut self.pool);
        self.scripts.push(script);
        Ok(ProgramId(self.scripts.len() - 1))
    }

    /// Frees what earlier runs left for the caller and takes blocks for the inputs of a program, which are to be
    /// written before it runs.
    pub fn begin(&mut self, program: ProgramId) -> Result<(), StepError> {
        if let Some(lost) = &self.lost {
            return Err(StepError::OutOfMemory(lost.clone()));
        }
        self.release();
        let inputs: Vec<ValueId> = self.graph(program).inputs().collect();
        for input in inputs {
            let script = &mut self.scripts[program.0];
            let label = script.labels[input.index()];
            match self.pool.take(bytes(&script.graph, input), label) {
                Ok(held) => script.blocks[input.index()] = Some(held),
                Err(refusal) => return Err(self.give_up(Stop::Refused(refusal, label))),
            }
        }
        Ok(())
    }

    /// Runs a program once, after [`Self::begin`]. Its outputs stay until the next beginning.
    pub fn run(&mut self, program: ProgramId) -> Result<(), StepError> {
        self.walk(program, Walk::Step)
    }

    /// Runs the forward ops of a program with every value checked, and names the first that is not finite. It must have
    /// begun and its inputs must have been written again; nothing persistent changes.
    pub fn find_non_finite(&mut self, program: ProgramId) -> Result<(), StepError> {
        for id in given_values(self.graph(program)) {
            if self.f32(program, id).iter().any(|x| !x.is_finite()) {
                return Err(StepError::not_finite(self.graph(program), id));
            }
        }
        self.walk(program, Walk::Search)
    }

    /// Frees everything but what is persistent.
    pub fn release(&mut self) {
        if self.lost.is_some() {
            return;
        }
        self.scripts.iter_mut().for_each(|script| script.release(&mut self.pool));
    }

    /// The graph of a program.
    pub fn graph(&self, program: ProgramId) -> &Graph {
        &self.scripts[program.0].graph
    }

    /// Lets bytes of a value be changed that is there: persistent, or an input after the beginning.
    ///
    /// # Panics
    /// If it is not there, or is shorter.
    pub fn write(
        &mut self,
        program: ProgramId,
        value: ValueId,
        bytes: Range<usize>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) {
        let held = self.find(program, value);
        fill(&mut self.pool.bytes_mut(held)[bytes]);
    }

    /// Copies bytes of a value out that is there: persistent, an output of the last run, or an input after the
    /// beginning.
    ///
    /// # Panics
    /// If it is not there, or is shorter.
    pub fn read(&self, program: ProgramId, value: ValueId, from: usize, into: &mut [u8]) {
        let held = self.find(program, value);
        into.copy_from_slice(&self.pool.bytes(held)[from..from + into.len()]);
    }

    /// A float32 value that is there: persistent, an output of the last run, or an input after the beginning.
    ///
    /// # Panics
    /// If it is not float32 or not there.
    pub fn f32(&self, program: ProgramId, value: ValueId) -> &[f32] {
        let held = self.find_typed(program, value, ElementType::F32);
        bytemuck::cast_slice(self.pool.bytes(held))
    }

    /// The same, to be written.
    ///
    /// # Panics
    /// If it is not float32 or not there.
    pub fn f32_mut(&mut self, program: ProgramId, value: ValueId) -> &mut [f32] {
        let held = self.find_typed(program, value, ElementType::F32);
        bytemuck::cast_slice_mut(self.pool.bytes_mut(held))
    }

    /// An int32 value that is there, to be written.
    ///
    /// # Panics
    /// If it is not int32 or not there.
    pub fn i32_mut(&mut self, program: ProgramId, value: ValueId) -> &mut [i32] {
        let held = self.find_typed(program, value, ElementType::I32);
        bytemuck::cast_slice_mut(self.pool.bytes_mut(held))
    }

    /// How things stand with the pool; peaks are those of the whole run.
    pub fn statistics(&self) -> Statistics {
        self.pool.statistics()
    }

    /// The largest share of the free bytes that was not in the largest free block after some op.
    pub fn worst_fragmentation(&self) -> f64 {
        self.pool.worst_fragmentation()
    }

    /// The allocator's name.
    pub fn allocator(&self) -> &'static str {
        self.pool.allocator()
    }

    /// From now on what happens to the pool is recorded, and written after each run. What is held already counts as
    /// taken now.
    pub fn record_to(&mut self, recorder: Recorder) {
        let held: Vec<Held> = self.held().collect();
        self.pool.record(&held);
        self.recorder = Some(recorder);
    }

    /// A step begins, so long after the recording did.
    pub fn mark_step(&mut self, number: u64, elapsed: Duration) {
        if let Some(recorder) = &mut self.recorder {
            recorder.drain(self.pool.trace_mut());
            recorder.step(number, elapsed);
        }
    }

    /// What follows judges the model; it begins so long after the recording did.
    pub fn mark_evaluation(&mut self, elapsed: Duration) {
        if let Some(recorder) = &mut self.recorder {
            recorder.drain(self.pool.trace_mut());
            recorder.evaluation(elapsed);
        }
    }

    /// So much time has gone by since the recording began.
    pub fn mark_clock(&mut self, elapsed: Duration) {
        if let Some(recorder) = &mut self.recorder {
            recorder.drain(self.pool.trace_mut());
            recorder.clock(elapsed);
        }
    }

    /// Ends the recording.
    pub fn take_recorder(&mut self) -> Option<Recorder> {
        let mut recorder = self.recorder.take()?;
        recorder.drain(self.pool.trace_mut());
        self.pool.stop_recording();
        Some(recorder)
    }

    /// Everything that happened to the pool so far, if settings ask for it and nobody writes it; see [`Pool`] for its
    /// offsets.
    pub fn recording(&self) -> &Trace {
        self.pool.trace()
    }

    fn walk(&mut self, program: ProgramId, walk: Walk) -> Result<(), StepError> {
        let Self { scripts, residents, pool, threads, .. } = self;
        let script = &mut scripts[program.0];
        // The whole walk runs inside the thread pool, so that kernels find it and no job crosses from outside at every
        // op.
        let walked = threads.install(|| run_script(script, residents, pool, walk));
        if let Some(recorder) = &mut self.recorder {
            recorder.drain(self.pool.trace_mut());
        }
        walked.map_err(|stop| self.give_up(stop))
    }

    /// Says why a walk ended, while everybody still holds what was in the way, and takes everything back.
    fn give_up(&mut self, stop: Stop) -> StepError {
        let error = match stop {
            Stop::Refused(refusal, label) => self.shortage(refusal, label),
            Stop::Failed(error) => error,
        };
        self.release();
        error
    }

    fn shortage(&self, refusal: Refusal, label: LabelId) -> StepError {
        StepError::OutOfMemory(Box::new(Shortage::new(&self.pool, refusal, label, self.held())))
    }

    fn held(&self) -> impl Iterator<Item = Held> + '_ {
        let transient = self.scripts.iter().flat_map(|script| script.blocks.iter().flatten().copied());
        self.residents.iter().chain(transient)
    }

    fn find_typed(&self, program: ProgramId, value: ValueId, element: ElementType) -> Held {
        let found = self.graph(program).value(value);
        assert_eq!(found.tensor.element, element, "{}", found.name);
        self.find(program, value)
    }

    fn find(&self, program: ProgramId, value: ValueId) -> Held {
        let script = &self.scripts[program.0];
        let found = script.graph.value(value);
        let held = script.held(value, &self.residents);
        held.unwrap_or_else(|| panic!("`{}` is not there", found.name))
    }
}

fn run_script(script: &mut Script, residents: &Residents, pool: &mut Pool, walk: Walk) -> Result<(), Stop> {
    let runs = |script: &Script, op: OpId| walk == Walk::Step || script.graph.op(op).phase == Phase::Forward;
    for index in 0..script.steps.len() {
        if !runs(script, script.steps[index].bound.op) {
            continue;
        }
        let scratch = take_blocks(script, index, pool)?;
        let result = run_step(script, index, scratch, residents, pool, walk);
        if let Some(scratch) = scratch {
            pool.free(scratch);
        }
        result.map_err(Stop::Failed)?;
        for &value in &script.steps[index].frees {
            let held = script.blocks[value.index()].take();
            pool.free(held.expect("a block is freed once, after its last use"));
        }
        pool.tick();
    }
    Ok(())
}

/// Blocks for the outputs of an op, and then for its scratch, which is returned.
fn take_blocks(script: &mut Script, index: usize, pool: &mut Pool) -> Result<Option<Held>, Stop> {
    let Script { steps, blocks, labels, graph, .. } = script;
    let step = &steps[index];
    for &output in &step.takes {
        let label = labels[output.index()];
        let held = pool.take(bytes(graph, output), label);
        blocks[output.index()] = Some(held.map_err(|refusal| Stop::Refused(refusal, label))?);
    }
    let Some((bytes, label)) = step.scratch else { return Ok(None) };
    pool.take(bytes, label).map(Some).map_err(|refusal| Stop::Refused(refusal, label))
}

fn run_step(
    script: &mut Script,
    index: usize,
    scratch: Option<Held>,
    residents: &Residents,
    pool: &Pool,
    walk: Walk,
) -> Result<(), StepError> {
    let Script { steps, blocks, places, graph, .. } = script;
    let step = &mut steps[index];
    views::bind(step, graph, places, blocks, scratch, residents, pool);
    let mut result = run_guarded(graph, &mut step.bound);
    if walk == Walk::Search && result.is_ok() {
        result = check_outputs(graph, &mut step.bound);
    }
    views::unbind(step);
    result.map_err(|cause| StepError::new(graph, step.bound.op, cause))
}
