//! What a layer sees while it is lowered.

use super::Kept;
use crate::lower::step_type;
use crate::{Mode, Node};
use plimsoll_graph::op::{BiasAdd, Binary, MovingAverage, Unary};
use plimsoll_graph::{
    Graph, Init, LayerId, OpKind, Phase, Role, Shape, ShapeError, Site, TensorType, ValueId,
};

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
    kept: &'a mut Kept,
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
        Self { graph, mode, node, layer, position, kept }
    }

    /// Whether the graph is for training.
    pub fn is_training(&self) -> bool {
        self.mode == Mode::Training
    }

    /// Whether training changes this layer: the graph is for training, and the layer is not frozen.
    pub fn is_learning(&self) -> bool {
        self.is_training() && self.node.trainable
    }

    /// The layer's position in the model, which tells its random numbers from those of other layers.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The shape of a value.
    pub fn shape(&self, value: ValueId) -> &Shape {
        &self.graph.tensor(value).shape
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

    /// Lets a statistic follow what this call of the layer has found, as a moving average. A graph updates a value once, so the calls of a
    /// shared layer are averaged first: `m a^n + (1 - a) (x1 a^(n-1) + ... + xn)` is what `n` updates one after another give.
    pub fn follow(&mut self, statistic: ValueId, momentum: f32, found: ValueId) -> Result<(), ShapeError> {
        let Some(calls) = self.kept.found(&self.node.name, statistic, found) else { return Ok(()) };
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

    /// The input that counts steps; it is added when first asked for.
    pub fn step(&mut self) -> Result<ValueId, ShapeError> {
        if let Some(step) = self.kept.step {
            return Ok(step);
        }
        let step = self.graph.add_input("step", step_type())?;
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
        let name = format!("{}/{name}", self.node.name);
        if let Some(&shared) = self.kept.persistents.get(&name) {
            let same = *self.graph.tensor(shared) == tensor;
            let other = || {
                format!(
                    "`{name}` is {} in another use of this layer, not {tensor}",
                    self.graph.tensor(shared)
                )
            };
            return if same { Ok(shared) } else { Err(self.refusal(&[], other())) };
        }
        let role = if self.node.trainable { role } else { Role::Statistic };
        let value = self.graph.add_persistent(name.clone(), tensor, role, init, Some(self.layer))?;
        self.kept.persistents.insert(name, value);
        Ok(value)
    }
}
