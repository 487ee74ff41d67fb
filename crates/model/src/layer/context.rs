//! What a layer sees while it is lowered.

use crate::lower::step_type;
use crate::{Mode, Node};
use plimsoll_graph::op::BiasAdd;
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
    step: &'a mut Option<ValueId>,
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
        step: &'a mut Option<ValueId>,
    ) -> Self {
        Self { graph, mode, node, layer, position, step }
    }

    /// Whether the graph is for training.
    pub fn is_training(&self) -> bool {
        self.mode == Mode::Training
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

    /// Adds an op that replaces something the layer remembers across steps.
    pub fn update(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<(), ShapeError> {
        let site = Site { layer: Some(self.layer), phase: Phase::Update };
        self.graph.add_op(kind.into(), inputs, site).map(drop)
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
        if let Some(step) = *self.step {
            return Ok(step);
        }
        let step = self.graph.add_input("step", step_type())?;
        Ok(*self.step.insert(step))
    }

    fn persistent(
        &mut self,
        name: &str,
        tensor: TensorType,
        role: Role,
        init: Init,
    ) -> Result<ValueId, ShapeError> {
        let name = format!("{}/{name}", self.node.name);
        self.graph.add_persistent(name, tensor, role, init, Some(self.layer))
    }
}
