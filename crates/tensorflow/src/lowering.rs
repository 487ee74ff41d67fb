//! Lowering: a forward graph becomes TensorFlow's kernels for the forward pass, the backward pass and the updates.

use crate::optimizer;
use crate::program::{Assignment, Kernel, KernelId, Owner, Program, Start, Tensor, TensorId};
use crate::recompute::{self, Part};
use crate::rules;
use crate::setup::{Device, Mode, Setup};
use crate::variant::Variant;
use plimsoll_graph::{Graph, Init, LayerId, Op, OpId, Phase, Role, Source, ValueId};
use std::collections::{HashMap, HashSet};

/// Makes the program of one training step.
pub fn lower(graph: &Graph, setup: &Setup, variant: Variant) -> Program {
    let mut at = Lowering::new(graph, setup, variant);
    let ops: Vec<&Op> = graph.ops().iter().filter(|op| op.phase == Phase::Forward).collect();
    let parts: Vec<Part<'_, '_>> = recompute::parts(graph, &ops, setup.recompute)
        .into_iter()
        .map(|(own, again)| Part::forward(&mut at, own, again))
        .collect();
    if at.is_eager() {
        at.hold_layers();
    }
    at.phase = Phase::Backward;
    rules::loss(&mut at);
    parts.into_iter().rev().for_each(|part| part.backward(&mut at));
    at.phase = Phase::Update;
    optimizer::update(&mut at);
    at.program
}

/// What an op does when the gradient of its result is known.
pub type Backward = Box<dyn FnOnce(&mut Lowering<'_>, TensorId)>;

/// The program under construction and the place in it.
pub struct Lowering<'a> {
    /// What is lowered.
    pub graph: &'a Graph,
    /// For whom.
    pub setup: &'a Setup,
    /// What has been made so far.
    pub program: Program,
    /// The layer that kernels are reported under.
    pub layer: Option<LayerId>,
    /// The part of the step.
    pub phase: Phase,
    /// The order of kernels among several that are possible.
    pub variant: Variant,
    /// How many products with a kernel there have been.
    pub products: usize,
    /// Whether the kernels that are added wait for all others.
    pub deferring: bool,
    /// A bias whose gradient is computed together with that of the kernel before it.
    pub waiting_bias: Option<(ValueId, TensorId)>,
    /// Whether the layer that is being lowered computes in float32 under a mixed policy.
    pub widening: bool,
    /// Into how many pieces each value is cut, one of which a rule sees.
    pieces: Vec<u64>,
    /// The tensor of each value that has one.
    tensors: Vec<Option<TensorId>>,
    /// The ops that recurrent layers take with them.
    pub absorbed: HashSet<OpId>,
    /// Whether an op reads each value.
    pub is_read: Vec<bool>,
    /// Variables in the type that layers compute in.
    casts: HashMap<TensorId, TensorId>,
    /// The gradients that have reached each value.
    gradients: Vec<Vec<TensorId>>,
    /// Whether the loss's gradient is wanted for each value.
    wanted: Vec<bool>,
}

impl<'a> Lowering<'a> {
    fn new(graph: &'a Graph, setup: &'a Setup, variant: Variant) -> Self {
        let mut at = Self {
            graph,
            setup,
            program: Program::default(),
            layer: None,
            phase: Phase::Forward,
            variant,
            products: 0,
            deferring: false,
            waiting_bias: None,
            widening: false,
            pieces: vec![1; graph.values().len()],
            tensors: vec![None; graph.values().len()],
            absorbed: rules::absorbed(graph),
            is_read: is_read(graph),
            casts: HashMap::new(),
            gradients: vec![Vec::new(); graph.values().len()],
            wanted: wanted(graph),
        };
        for id in graph.value_ids() {
            let value = graph.value(id);
            let owner = match value.source {
                Source::Input => Owner::Caller,
                Source::Persistent(Init::Constant(_)) => Owner::Variable(Start::Filled),
                Source::Persistent(_) => Owner::Variable(Start::Drawn),
                Source::Op(_) => continue,
            };
            let bytes = value.tensor.shape.elements() as u64 * 4;
            at.tensors[id.index()] = Some(at.owned(owner, value.role, value.layer, &value.name, bytes));
        }
        at
    }

    /// The elements of a value.
    pub fn elements(&self, value: ValueId) -> u64 {
        self.graph.tensor(value).shape.elements() as u64 / self.pieces[value.index()]
    }

    /// The samples in a value.
    pub fn samples(&self, value: ValueId) -> u64 {
        self.graph.tensor(value).shape[0] as u64 / self.pieces[value.index()]
    }

    /// From now on rules see one of so many pieces of these values.
    pub fn cut(&mut self, values: &[ValueId], pieces: u64) {
        values.iter().for_each(|value| self.pieces[value.index()] = pieces);
    }

    /// The bytes of a value as an activation.
    pub fn bytes(&self, value: ValueId) -> u64 {
        let is_float = self.graph.tensor(value).element.is_float();
        self.elements(value) * if is_float { self.element() } else { 4 }
    }

    /// The bytes of a number in the layer that is being lowered.
    pub fn element(&self) -> u64 {
        if self.widening { 4 } else { self.setup.precision.bytes() }
    }

    /// Whether a layer computes in float32 under every policy: what makes the model's outputs does, as Keras advises.
    pub fn is_wide(&self, layer: Option<LayerId>) -> bool {
        let outputs = self.graph.outputs().iter();
        self.setup.precision.is_mixed()
            && layer.is_some()
            && outputs.into_iter().any(|&output| self.graph.value(output).layer == layer)
    }

    /// The gradients that have reached a value so far.
    pub fn gradients_mut(&mut self, value: ValueId) -> &mut Vec<TensorId> {
        &mut self.gradients[value.index()]
    }

    /// The tensor of a value.
    pub fn tensor(&self, value: ValueId) -> TensorId {
        self.tensors[value.index()].expect("ops come after what they read")
    }

    /// Whether a value has a tensor by now.
    pub fn has_tensor(&self, value: ValueId) -> bool {
        self.tensors[value.index()].is_some()
    }

    /// The tensors of an op's operands.
    pub fn operands(&self, op: &Op) -> Vec<TensorId> {
        op.inputs.iter().map(|&input| self.tensor(input)).collect()
    }

    /// A variable as a layer reads it: under a mixed policy a cast copy, which waits for nothing and so is made before
    /// the first layer runs.
    pub fn weight(&mut self, value: ValueId) -> TensorId {
        let tensor = self.tensor(value);
        if !self.setup.precision.is_mixed()
            || self.widening
            || !self.program.tensor(tensor).owner.is_variable()
        {
            return tensor;
        }
        if let Some(&cast) = self.casts.get(&tensor) {
            return cast;
        }
        let bytes = self.bytes(value);
        let cast = self.call(Call { name: "Cast", reads: &[tensor], bytes, early: true, ..Call::default() });
        self.casts.insert(tensor, cast);
        cast
    }

    /// Says which tensor a value is.
    pub fn set(&mut self, value: ValueId, tensor: TensorId) {
        self.tensors[value.index()] = Some(tensor);
    }

    /// Whether anybody wants the gradient of a value.
    pub fn wants(&self, value: ValueId) -> bool {
        self.wanted[value.index()]
    }

    /// A gradient has reached a value.
    pub fn give(&mut self, value: ValueId, gradient: TensorId) {
        if self.wants(value) {
            self.gradients[value.index()].push(gradient);
        }
    }

    /// The sum of the gradients that have reached a value.
    pub fn gradient_of(&mut self, value: ValueId) -> Option<TensorId> {
        let gradients = std::mem::take(&mut self.gradients[value.index()]);
        match *gradients {
            [] => None,
            [gradient] => Some(gradient),
            _ => {
                let bytes = self.program.tensor(gradients[0]).bytes;
                Some(self.reuse("AddN", &gradients, bytes))
            }
        }
    }

    /// A kernel with a result of its own.
    pub fn fresh(&mut self, name: &'static str, reads: &[TensorId], bytes: u64) -> TensorId {
        self.call(Call { name, reads, bytes, ..Call::default() })
    }

    /// A kernel whose result may take the place of an operand.
    pub fn reuse(&mut self, name: &'static str, reads: &[TensorId], bytes: u64) -> TensorId {
        self.call(Call { name, reads, bytes, in_place: true, ..Call::default() })
    }

    /// A kernel with buffers that it has only while it runs.
    pub fn scratchy(
        &mut self,
        name: &'static str,
        reads: &[TensorId],
        bytes: u64,
        scratch: &[u64],
    ) -> TensorId {
        self.call(Call { name, reads, bytes, scratch, ..Call::default() })
    }

    /// A kernel with one result.
    pub fn call(&mut self, call: Call<'_>) -> TensorId {
        let name = call.name.to_string();
        let role = self.phase.role();
        let tensor = Tensor { bytes: call.bytes, role, layer: self.layer, owner: Owner::Step, name };
        let written = self.program.add_tensor(tensor);
        self.add(call, vec![written], None);
        written
    }

    /// A kernel with several results of one size.
    pub fn several(
        &mut self,
        name: &'static str,
        reads: &[TensorId],
        bytes: u64,
        count: usize,
    ) -> Vec<TensorId> {
        let (role, layer) = (self.phase.role(), self.layer);
        let tensor = || Tensor { bytes, role, layer, owner: Owner::Step, name: name.to_string() };
        let written: Vec<TensorId> = (0..count).map(|_| self.program.add_tensor(tensor())).collect();
        self.add(Call { name, reads, bytes, ..Call::default() }, written.clone(), None);
        written
    }

    /// A kernel that assigns to a variable.
    pub fn assign(
        &mut self,
        name: &'static str,
        reads: &[TensorId],
        after: &[KernelId],
        assigns: Assignment,
    ) {
        self.add(Call { name, reads, after, ..Call::default() }, Vec::new(), Some(assigns));
    }

    /// The kernel that was added last.
    pub fn last(&self) -> KernelId {
        KernelId(self.program.kernels.len() as u32 - 1)
    }

    /// A tensor that is there before the step and after it.
    pub fn owned(
        &mut self,
        owner: Owner,
        role: Role,
        layer: Option<LayerId>,
        name: &str,
        bytes: u64,
    ) -> TensorId {
        self.program.add_tensor(Tensor { bytes, role, layer, owner, name: name.to_string() })
    }

    /// Whether Python runs the step call by call.
    pub fn is_eager(&self) -> bool {
        self.setup.mode == Mode::Eager
    }

    /// Keras holds the result of every layer until the model has been called.
    fn hold_layers(&mut self) {
        let graph = self.graph;
        let crosses = |op: &Op, value: &ValueId| {
            graph.ops().iter().any(|reader| reader.layer != op.layer && reader.inputs.contains(value))
        };
        let results =
            graph.ops().iter().flat_map(|op| op.outputs.iter().filter(move |value| crosses(op, value)));
        let held: Vec<TensorId> = results.filter_map(|value| self.tensors[value.index()]).collect();
        self.fresh("Functional", &held, 0);
    }

    /// Reads the shapes of operands in a gradient. A graph knows shapes when it is made; in eager mode the gradients of
    /// sums, means, stretched additions and reshapes ask the operands themselves, so the tape keeps them (ResNet-50:
    /// every `SquaredDifference` and every product before an addition).
    pub fn read_shapes(&mut self, of: &[TensorId], gradient: TensorId) {
        if self.is_eager() {
            self.fresh("Shape", &[of, &[gradient]].concat(), 0);
        }
    }

    /// No trace says how TensorFlow computes this layer.
    pub fn is_a_guess(&mut self) {
        self.program.unsure.extend(self.layer);
    }

    /// Whether the kernels are the CPU's.
    pub fn on_cpu(&self) -> bool {
        self.setup.device == Device::Cpu
    }

    fn add(&mut self, call: Call<'_>, writes: Vec<TensorId>, assigns: Option<Assignment>) {
        self.program.add_kernel(Kernel {
            name: call.name,
            layer: self.layer,
            reads: call.reads.to_vec(),
            writes,
            scratch: call.scratch.to_vec(),
            in_place: call.in_place,
            after: call.after.to_vec(),
            assigns,
            early: call.early,
            deferred: self.deferring,
        });
    }
}

/// A kernel to be added.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call<'a> {
    /// TensorFlow's name.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'a [TensorId],
    /// The size of its result.
    pub bytes: u64,
    /// Buffers it has only while it runs.
    pub scratch: &'a [u64],
    /// Whether the result may take the place of an operand.
    pub in_place: bool,
    /// What must have run before, beside the writers of what it reads.
    pub after: &'a [KernelId],
    /// Whether it depends on a seed alone.
    pub early: bool,
}

fn is_read(graph: &Graph) -> Vec<bool> {
    let mut is_read = vec![false; graph.values().len()];
    graph.ops().iter().flat_map(|op| &op.inputs).for_each(|input| is_read[input.index()] = true);
    is_read
}

/// The values that parameters lead to.
fn wanted(graph: &Graph) -> Vec<bool> {
    let mut wanted: Vec<bool> = graph.values().iter().map(|value| value.role == Role::Parameter).collect();
    for op in graph.ops() {
        let leads = op.inputs.iter().any(|input| wanted[input.index()]);
        for output in op.outputs.iter().filter(|_| op.phase == Phase::Forward) {
            wanted[output.index()] = leads && graph.tensor(*output).element.is_float();
        }
    }
    wanted
}
