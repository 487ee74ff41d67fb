//! Which values share storage, and when that storage is live.
//!
//! Three ways to share: a view is its input's bytes under another shape; an update writes over the persistent value it
//! updates; an op in place writes over an input that nobody reads any more, if its kernel can.

use crate::{Buffer, BufferId, Options, Target, bytes_of};
use plimsoll_graph::{Graph, Op, OpId, Role, Source, TensorType, ValueId};
use plimsoll_trace::{Bytes, Offset};

/// Buffers without offsets, and who uses them.
pub struct Drafts {
    /// Everything that takes memory, not yet placed.
    pub buffers: Vec<Buffer>,
    /// For each value, its buffer.
    pub storage: Vec<Option<BufferId>>,
    /// For each step, its scratch.
    pub scratch: Vec<Option<BufferId>>,
}

/// Gives every value that an order computes a buffer with a live range, and every step its scratch.
pub fn buffers(graph: &Graph, order: &[OpId], target: &Target, options: Options) -> Drafts {
    let mut drafter = Drafter {
        graph,
        target,
        options,
        last_use: last_uses(graph, order),
        steps: order.len() as u32,
        drafts: Drafts {
            buffers: Vec::new(),
            storage: vec![None; graph.values().len()],
            scratch: Vec::new(),
        },
    };
    for id in graph.value_ids() {
        if !matches!(graph.value(id).source, Source::Op(_)) {
            drafter.add_buffer(id, 0);
        }
    }
    for (step, &id) in order.iter().enumerate() {
        drafter.add_op(graph.op(id), step as u32);
    }
    drafter.drafts
}

/// For each value, the step that reads it last; the number of steps if it must outlive them all.
fn last_uses(graph: &Graph, order: &[OpId]) -> Vec<u32> {
    let mut last_use = vec![0; graph.values().len()];
    for (step, &id) in order.iter().enumerate() {
        let op = graph.op(id);
        for value in op.inputs.iter().chain(&op.outputs) {
            last_use[value.index()] = step as u32;
        }
    }
    for output in graph.outputs() {
        last_use[output.index()] = order.len() as u32;
    }
    last_use
}

struct Drafter<'a> {
    graph: &'a Graph,
    target: &'a Target,
    options: Options,
    last_use: Vec<u32>,
    steps: u32,
    drafts: Drafts,
}

impl Drafter<'_> {
    fn add_op(&mut self, op: &Op, step: u32) {
        let inputs = self.types(&op.inputs);
        let outputs = self.types(&op.outputs);
        let scratch = self.target.kernels.scratch(&op.kind, &inputs, &outputs);
        let scratch =
            (scratch > Bytes::ZERO).then(|| self.push(scratch, step..step + 1, Role::Workspace, Vec::new()));
        self.drafts.scratch.push(scratch);
        for (index, &output) in op.outputs.iter().enumerate() {
            match self.shared_with(op, index, step) {
                Some(input) => self.share(input, output),
                None => self.add_buffer(output, step),
            }
        }
    }

    /// The input whose storage an output takes, if any.
    fn shared_with(&self, op: &Op, output: usize, step: u32) -> Option<ValueId> {
        if op.kind.is_view() {
            return Some(op.inputs[0]);
        }
        if let Some(update) = op.kind.updates().into_iter().find(|update| update.output == output) {
            return Some(op.inputs[update.input]);
        }
        let pairs = self
            .target
            .kernels
            .in_place(&op.kind)
            .iter()
            .filter(|pair| self.options.in_place && pair.1 == output);
        let mut inputs = pairs.map(|&(input, _)| op.inputs[input]);
        inputs.find(|&input| self.may_overwrite(op, input, op.outputs[output], step))
    }

    /// Whether nobody but this op needs what an input's buffer holds, and the output has the same size.
    fn may_overwrite(&self, op: &Op, input: ValueId, output: ValueId, step: u32) -> bool {
        let id = self.storage(input);
        let buffer = &self.drafts.buffers[id.0 as usize];
        let same_size = bytes_of(self.graph.tensor(input)) == bytes_of(self.graph.tensor(output));
        let dead = buffer.values.iter().all(|value| self.last_use[value.index()] <= step);
        let read_once = op.inputs.iter().filter(|&&other| self.storage(other) == id).count() == 1;
        let taken = op.outputs.iter().any(|other| self.drafts.storage[other.index()] == Some(id));
        same_size && dead && read_once && !taken && !buffer.role.is_persistent()
    }

    fn share(&mut self, input: ValueId, output: ValueId) {
        let id = self.storage(input);
        let buffer = &mut self.drafts.buffers[id.0 as usize];
        buffer.values.push(output);
        buffer.live.end = buffer.live.end.max((self.last_use[output.index()] + 1).min(self.steps));
        self.drafts.storage[output.index()] = Some(id);
    }

    fn add_buffer(&mut self, value: ValueId, step: u32) {
        let role = self.graph.value(value).role;
        let end = match role.is_persistent() {
            true => self.steps,
            false => (self.last_use[value.index()] + 1).min(self.steps),
        };
        let bytes = bytes_of(self.graph.tensor(value));
        let id = self.push(bytes, step..end.max(step + 1), role, vec![value]);
        self.drafts.storage[value.index()] = Some(id);
    }

    fn push(
        &mut self,
        bytes: Bytes,
        live: std::ops::Range<u32>,
        role: Role,
        values: Vec<ValueId>,
    ) -> BufferId {
        let bytes = bytes.aligned(self.target.alignment);
        self.drafts.buffers.push(Buffer { bytes, live, offset: Offset::START, role, values });
        BufferId(self.drafts.buffers.len() as u32 - 1)
    }

    fn storage(&self, value: ValueId) -> BufferId {
        self.drafts.storage[value.index()].expect("a value is stored before it is read")
    }

    fn types(&self, values: &[ValueId]) -> Vec<TensorType> {
        values.iter().map(|&value| self.graph.tensor(value).clone()).collect()
    }
}
