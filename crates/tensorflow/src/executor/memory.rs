//! The memory of a run: which tensors are live, which block each has, and the trace of both.

use crate::program::{Assignment, Kernel, KernelId, Owner, Program, Start, TensorId};
use plimsoll_graph::{LayerId, Role};
use plimsoll_trace::{BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace};
use std::collections::HashMap;

/// The live tensors of a run.
pub struct Memory<'a> {
    program: &'a Program,
    in_place: bool,
    with_build: bool,
    trace: Trace,
    time: u32,
    next_block: u32,
    /// How many reads of each tensor are to come.
    reads_left: Vec<usize>,
    /// The block of each tensor that has one.
    block: Vec<Option<BlockId>>,
    /// Contents of variables that were assigned to while somebody still reads them.
    outdated: HashMap<TensorId, BlockId>,
    labels: HashMap<(Role, Option<LayerId>, String), LabelId>,
    layer_name: &'a dyn Fn(LayerId) -> String,
}

impl<'a> Memory<'a> {
    /// Everything that is there before the step begins.
    pub fn new(
        program: &'a Program,
        in_place: bool,
        with_build: bool,
        layer_name: &'a dyn Fn(LayerId) -> String,
    ) -> Self {
        let reads_left = vec![0; program.tensors.len()];
        let block = vec![None; program.tensors.len()];
        let (labels, outdated, trace) = (HashMap::new(), HashMap::new(), Trace::default());
        let mut memory = Self {
            program,
            in_place,
            with_build,
            trace,
            time: 0,
            next_block: 0,
            reads_left,
            block,
            outdated,
            labels,
            layer_name,
        };
        memory.build();
        memory
    }

    /// Everything that was taken and freed.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    /// Variables in the order in which Keras makes them, then the batch.
    fn build(&mut self) {
        let program = self.program;
        let mut there: Vec<TensorId> =
            program.tensor_ids().filter(|&id| program.tensor(id).owner != Owner::Step).collect();
        there.sort_by_key(|&id| {
            (!program.tensor(id).owner.is_variable(), program.tensor(id).role == Role::OptimizerState)
        });
        for id in there {
            let tensor = program.tensor(id);
            let drawn = self.with_build && tensor.owner == Owner::Variable(Start::Drawn);
            let label = self.label(Role::Workspace, tensor.layer, "initializer".to_string());
            let temporaries: Vec<BlockId> =
                (0..2).filter(|_| drawn).map(|_| self.take_bytes(tensor.bytes, label)).collect();
            self.take(id);
            temporaries.into_iter().for_each(|block| self.free_block(block));
        }
    }

    /// All reads of a step are to come.
    pub fn begin_step(&mut self) {
        for kernel in &self.program.kernels {
            kernel.reads.iter().for_each(|read| self.reads_left[read.0 as usize] += 1);
        }
    }

    /// Runs a kernel: takes what it writes, frees what it was the last to read.
    pub fn run(&mut self, id: KernelId) {
        self.time += 1;
        let program = self.program;
        let kernel = program.kernel(id);
        for (index, &write) in kernel.writes.iter().enumerate() {
            match (index == 0).then(|| self.replaceable(kernel, write)).flatten() {
                Some(operand) => self.block[write.0 as usize] = self.block[operand.0 as usize].take(),
                None => self.take(write),
            }
        }
        let label = self.label(Role::Workspace, kernel.layer, kernel.name.to_string());
        let scratch: Vec<BlockId> =
            kernel.scratch.iter().map(|&bytes| self.take_bytes(bytes, label)).collect();
        scratch.into_iter().for_each(|block| self.free_block(block));
        self.assign(kernel);
        self.finish_reads(kernel);
        let unread = kernel.writes.iter().filter(|write| self.reads_left[write.0 as usize] == 0);
        unread.copied().collect::<Vec<_>>().into_iter().for_each(|write| self.release(write));
    }

    /// An operand that the result can take the place of.
    fn replaceable(&self, kernel: &Kernel, write: TensorId) -> Option<TensorId> {
        let bytes = self.program.tensor(write).bytes;
        let fits = |read: &&TensorId| {
            let tensor = self.program.tensor(**read);
            tensor.owner == Owner::Step && tensor.bytes == bytes && self.reads_left[read.0 as usize] == 1
        };
        kernel.reads.iter().filter(|_| self.in_place && kernel.in_place).find(fits).copied()
    }

    fn finish_reads(&mut self, kernel: &Kernel) {
        for &read in &kernel.reads {
            self.reads_left[read.0 as usize] -= 1;
            if self.reads_left[read.0 as usize] == 0 {
                self.release(read);
            }
        }
    }

    fn assign(&mut self, kernel: &Kernel) {
        match kernel.assigns {
            // The old contents stay until their last reader is done; the copy is the variable from now on.
            Some(Assignment::Change(variable)) if self.reads_left[variable.0 as usize] > 0 => {
                if let Some(old) = self.block[variable.0 as usize].take() {
                    self.outdated.insert(variable, old);
                }
                self.take(variable);
            }
            Some(Assignment::Change(_)) | None => {}
            Some(Assignment::Replace(variable, value)) => {
                if let Some(old) = self.block[variable.0 as usize].take() {
                    self.free_block(old);
                }
                self.block[variable.0 as usize] = self.block[value.0 as usize].take();
            }
        }
    }

    /// Nobody will read the tensor any more.
    fn release(&mut self, id: TensorId) {
        let block = match self.program.tensor(id).owner {
            Owner::Step => self.block[id.0 as usize].take(),
            Owner::Variable(_) => self.outdated.remove(&id),
            Owner::Caller => None,
        };
        if let Some(block) = block {
            self.free_block(block);
        }
    }

    fn take(&mut self, id: TensorId) {
        let tensor = self.program.tensor(id);
        let label = self.label(tensor.role, tensor.layer, tensor.name.clone());
        let block = self.take_bytes(tensor.bytes, label);
        self.block[id.0 as usize] = Some(block);
    }

    fn take_bytes(&mut self, bytes: u64, label: LabelId) -> BlockId {
        let block = BlockId(self.next_block);
        self.next_block += 1;
        let time = Time(self.time);
        self.trace.events.push(Event::Take { time, block, offset: Offset(0), bytes: Bytes(bytes), label });
        block
    }

    fn free_block(&mut self, block: BlockId) {
        self.trace.events.push(Event::Free { time: Time(self.time), block });
    }

    fn label(&mut self, role: Role, layer: Option<LayerId>, value: String) -> LabelId {
        let key = (role, layer, value);
        if let Some(&label) = self.labels.get(&key) {
            return label;
        }
        let layer = layer.map(|layer| (self.layer_name)(layer)).unwrap_or_default();
        let (role, value) = (role.name().to_string(), key.2.clone());
        let label = self.trace.add_label(Label { op: value.clone(), value, role, layer, again: false });
        self.labels.insert(key, label);
        label
    }
}
