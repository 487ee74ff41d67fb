//! What a layer sees while it is lowered.

use super::Kept;
use crate::lower::step_type;
use crate::{Mode, Node};
use plimsoll_graph::op::{BiasAdd, Binary, Cast, Concat, Fill, MovingAverage, Reshape, Transpose, Unary};
use plimsoll_graph::{
    ElementType, Graph, Init, LayerId, OpKind, Phase, Role, Shape, ShapeError, Site, TensorType, ValueId,
};

/// A constant with more runs of equal elements than this is refused.
const MOST_RUNS: usize = 4096;

/// What flows between layers: a value and, for sequences with padding, the mask of the positions that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The tensor.
    pub value: ValueId,
    /// `f32[batch, time]`, 1 where a position counts and 0 where it is padding.
    pub mask: Option<ValueId>,
}

/// The graph under construction and the place of one layer in it.
pub struct Context<'a> {
    graph: &'a mut Graph,
    mode: Mode,
    node: &'a Node,
    layer: LayerId,
    position: u64,
    /// How many random masks the layer has made so far.
    masks: u64,
    kept: &'a mut Kept,
    /// Which step of this call runs, and of how many: more than one where a layer runs step by step.
    step_of: (usize, usize),
}

impl Signal {
    /// The same mask for another value.
    pub fn with(self, value: ValueId) -> Self {
        Self { value, ..self }
    }

    /// The value alone.
    pub fn bare(value: ValueId) -> Self {
        Self { value, mask: None }
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        graph: &'a mut Graph,
        mode: Mode,
        node: &'a Node,
        layer: LayerId,
        position: u64,
        kept: &'a mut Kept,
    ) -> Self {
        Self { graph, mode, node, layer, position, masks: 0, kept, step_of: (0, 1) }
    }

    /// Whether the graph is for training.
    pub fn is_training(&self) -> bool {
        self.mode == Mode::Training
    }

    /// Whether training changes this layer: the graph is for training, and the layer is not frozen.
    pub fn is_learning(&self) -> bool {
        self.is_training() && self.node.trainable
    }

    /// A seed for the next random mask of this layer, unlike that of any other.
    pub fn seed(&mut self) -> u64 {
        let seed = self.position | self.masks << 32;
        self.masks += 1;
        seed
    }

    /// The shape of a value.
    pub fn shape(&self, value: ValueId) -> &Shape {
        &self.graph.tensor(value).shape
    }

    /// The element type of a value.
    pub fn element(&self, value: ValueId) -> ElementType {
        self.graph.tensor(value).element
    }

    /// The extents of a value of rank `N`.
    pub fn extents<const N: usize>(&self, value: ValueId) -> Result<[usize; N], ShapeError> {
        let shape = self.shape(value);
        let wrong = || self.refusal(&[value], format!("it takes rank {N}, not {}", shape.rank()));
        shape.extents().try_into().map_err(|_| wrong())
    }

    /// The extent of the last axis of a value that has more axes than the batch.
    pub fn features(&self, value: ValueId) -> Result<usize, ShapeError> {
        match self.shape(value).rank() {
            0 | 1 => Err(self.refusal(&[value], "there is no axis of features".to_string())),
            _ => Ok(self.shape(value).last()),
        }
    }

    /// Exactly `N` inputs.
    pub fn operands<const N: usize>(&self, inputs: &[Signal]) -> Result<[Signal; N], ShapeError> {
        let values: Vec<ValueId> = inputs.iter().map(|input| input.value).collect();
        let wrong = || self.refusal(&values, format!("it takes {N} inputs, not {}", inputs.len()));
        inputs.try_into().map_err(|_| wrong())
    }

    /// An axis counted from the end if negative, as a position.
    pub fn axis(&self, axis: isize, value: ValueId) -> Result<usize, ShapeError> {
        let rank = self.shape(value).rank();
        let position = if axis < 0 { rank.checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
        let wrong = || self.refusal(&[value], format!("there is no axis {axis}"));
        position.filter(|&position| position < rank).ok_or_else(wrong)
    }

    /// Several axes as ascending positions, none of them twice.
    pub fn axes(&self, axes: &[isize], value: ValueId) -> Result<Vec<usize>, ShapeError> {
        let mut positions = axes.iter().map(|&axis| self.axis(axis, value)).collect::<Result<Vec<_>, _>>()?;
        positions.sort_unstable();
        match positions.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(self.refusal(&[value], format!("the axes {axes:?} name one twice"))),
            false => Ok(positions),
        }
    }

    /// Refuses what is no share that can be dropped.
    pub fn check_rate(&self, rate: f32, value: ValueId) -> Result<(), ShapeError> {
        match (0.0..1.0).contains(&rate) {
            true => Ok(()),
            false => Err(self.refusal(&[value], format!("the rate {rate} is not in [0, 1)"))),
        }
    }

    /// A product of settings that may be absurdly large.
    pub fn product(&self, factors: &[usize]) -> Result<usize, ShapeError> {
        let product = factors.iter().try_fold(1usize, |product, &factor| product.checked_mul(factor));
        product.ok_or_else(|| self.refusal(&[], format!("{factors:?} multiply to an absurdly large number")))
    }

    /// The error for inputs that the layer does not take.
    pub fn refusal(&self, inputs: &[ValueId], problem: String) -> ShapeError {
        let inputs = inputs.iter().map(|&input| self.graph.tensor(input).clone()).collect();
        ShapeError { op: self.node.layer.kind().to_string(), inputs, problem }
    }

    /// Adds a forward op and gives its first output; the others serve its gradient.
    pub fn op(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<ValueId, ShapeError> {
        Ok(self.ops(kind, inputs)?[0])
    }

    /// Adds a forward op and gives all its outputs.
    pub fn ops(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<Vec<ValueId>, ShapeError> {
        self.graph.add_op(kind.into(), inputs, Site::forward(self.layer))
    }

    /// Says that a softmax or a sigmoid of these logits made a value, so that a loss can go back to them.
    pub fn made_from_logits(&mut self, value: ValueId, logits: ValueId) {
        self.kept.logits.insert(value, logits);
    }

    /// Says that Keras has a copy in the place of a value, which does not know what it was made from.
    pub fn forget_logits(&mut self, value: ValueId) {
        self.kept.logits.remove(&value);
    }

    /// Says that the layer runs one step after the other, and which of how many comes now.
    pub(super) fn begin_step(&mut self, position: usize, count: usize) {
        self.step_of = (position, count);
    }

    /// Lets a statistic follow what this call of the layer has found, as a moving average. A graph updates a value
    /// once, so the calls of a shared layer are averaged first: `m a^n + (1 - a) (x1 a^(n-1) + ... + xn)` is what `n`
    /// updates one after another give.
    pub fn follow(&mut self, statistic: ValueId, momentum: f32, found: ValueId) -> Result<(), ShapeError> {
        let last = self.step_of.0 + 1 == self.step_of.1;
        let Some(calls) = self.kept.found(&self.node.name, statistic, found, last) else { return Ok(()) };
        let (&first, rest) = calls.split_first().expect("this call is one of them");
        let mut sum = first;
        for &value in rest {
            let faded = self.op(Unary::MultiplyScalar(momentum), &[sum])?;
            sum = self.op(Binary::Add, &[faded, value])?;
        }
        let all = momentum.powi(calls.len() as i32);
        if !rest.is_empty() {
            let share = if all < 1.0 { (1.0 - momentum) / (1.0 - all) } else { 1.0 };
            sum = self.op(Unary::MultiplyScalar(share), &[sum])?;
        }
        let site = Site { layer: Some(self.layer), phase: Phase::Update };
        self.graph.add_op(MovingAverage { momentum: all }.into(), &[statistic, sum], site).map(drop)
    }

    /// Floats of integers; floats as they are.
    pub fn float(&mut self, value: ValueId) -> Result<ValueId, ShapeError> {
        match self.element(value) {
            ElementType::I32 => self.op(Cast { to: ElementType::F32 }, &[value]),
            _ => Ok(value),
        }
    }

    /// The value under another shape.
    pub fn reshaped(&mut self, value: ValueId, shape: impl Into<Shape>) -> Result<ValueId, ShapeError> {
        let shape = shape.into();
        if *self.shape(value) == shape { Ok(value) } else { self.op(Reshape { shape }, &[value]) }
    }

    /// The value with its axes in another order.
    pub fn transposed(&mut self, value: ValueId, order: Vec<usize>) -> Result<ValueId, ShapeError> {
        let moves = order.iter().enumerate().any(|(position, &axis)| position != axis);
        if moves { self.op(Transpose { order }, &[value]) } else { Ok(value) }
    }

    /// The value with one axis and the last in each other's place; doing it again undoes it.
    pub fn exchanged(&mut self, value: ValueId, axis: usize) -> Result<ValueId, ShapeError> {
        let last = self.axis(-1, value)?;
        let mut order: Vec<usize> = (0..=last).collect();
        order.swap(axis, last);
        self.transposed(value, order)
    }

    /// A scalar that does not change.
    pub fn scalar(&mut self, value: f32) -> Result<ValueId, ShapeError> {
        self.op(Fill { shape: Shape::scalar(), value }, &[])
    }

    /// A vector that does not change: one op for each run of equal elements, so it is meant for short ones.
    pub fn constant(&mut self, elements: &[f32]) -> Result<ValueId, ShapeError> {
        let runs: Vec<&[f32]> = elements.chunk_by(|a, b| a.to_bits() == b.to_bits()).collect();
        if runs.len() > MOST_RUNS {
            let problem = format!("a constant of {} different elements is more than {MOST_RUNS}", runs.len());
            return Err(self.refusal(&[], problem));
        }
        let mut parts = Vec::with_capacity(runs.len());
        for run in runs {
            parts.push(self.op(Fill { shape: [run.len()].into(), value: run[0] }, &[])?);
        }
        match parts[..] {
            [] => Err(self.refusal(&[], "a constant has no elements".to_string())),
            [single] => Ok(single),
            _ => self.op(Concat { axis: 0 }, &parts),
        }
    }

    /// Adds a float32 parameter of the layer.
    pub fn parameter(
        &mut self,
        name: &str,
        shape: impl Into<Shape>,
        init: Init,
    ) -> Result<ValueId, ShapeError> {
        self.persistent(name, TensorType::f32(shape), Role::Parameter, init)
    }

    /// Adds the parameter `bias` and its addition to the last axis.
    pub fn biased(&mut self, value: ValueId) -> Result<ValueId, ShapeError> {
        let bias = self.parameter("bias", [self.shape(value).last()], Init::Constant(0.0))?;
        self.op(BiasAdd {}, &[value, bias])
    }

    /// Adds something the layer remembers but does not learn.
    pub fn statistic(&mut self, name: &str, tensor: TensorType, start: f32) -> Result<ValueId, ShapeError> {
        self.persistent(name, tensor, Role::Statistic, Init::Constant(start))
    }

    /// Adds a state that goes on from batch to batch: what the layer begins with, and lets follow its last one.
    pub(super) fn carried(&mut self, name: &str, shape: &Shape) -> Result<ValueId, ShapeError> {
        if self.kept.is_shared(&self.node.name) || self.step_of.1 > 1 {
            let problem = "a stateful layer that is called several times is not supported";
            return Err(self.refusal(&[], problem.to_string()));
        }
        self.statistic(name, TensorType::f32(shape.clone()), 0.0)
    }

    /// Notes what a layer gives beside its result, for the nodes that read it.
    pub fn beside(&mut self, result: Signal, others: Vec<Signal>) -> Signal {
        self.kept.others.insert(result.value, others);
        result
    }

    /// What a layer gave beside its result.
    pub fn other(&self, result: ValueId, index: usize) -> Result<Signal, ShapeError> {
        let found = self.kept.others.get(&result).and_then(|others| others.get(index));
        found.copied().ok_or_else(|| self.refusal(&[result], format!("there is no result {index} beside it")))
    }

    /// The input that counts steps; it is added when first asked for.
    pub fn step(&mut self) -> Result<ValueId, ShapeError> {
        if let Some(step) = self.kept.step {
            return Ok(step);
        }
        let step = self.graph.add_input(self.graph.free_name("step"), step_type())?;
        Ok(*self.kept.step.insert(step))
    }

    /// A new value that lives across steps, or the one that an earlier call of this layer has made.
    fn persistent(
        &mut self,
        name: &str,
        tensor: TensorType,
        role: Role,
        init: Init,
    ) -> Result<ValueId, ShapeError> {
        let key = (self.node.name.clone(), name.to_string());
        if let Some(&shared) = self.kept.persistents.get(&key) {
            let same = *self.graph.tensor(shared) == tensor;
            let other = || {
                format!(
                    "`{}/{name}` is {} in another use of this layer, not {tensor}",
                    self.node.name,
                    self.graph.tensor(shared)
                )
            };
            return if same { Ok(shared) } else { Err(self.refusal(&[], other())) };
        }
        let role = if self.node.trainable { role } else { Role::Statistic };
        let name = self.kept.free_name(&self.node.name, name);
        let value = self.graph.add_persistent(name, tensor, role, init, Some(self.layer))?;
        self.kept.persistents.insert(key, value);
        Ok(value)
    }
}
