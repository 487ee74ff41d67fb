//! The graph itself and how it is built.
//!
//! Equations that hold at all times and that `verify` checks in the same words:
//! - `values[v].source == Op(o)` exactly if `ops[o].outputs` contains `v`.
//! - every input of `ops[o]` is an input, persistent, or an output of some `ops[p]` with `p < o`.
//! - the types of an op's outputs are what its shape rule gives for its inputs.

use crate::cheap_list::CheapList;
use crate::op::{Op, OpId, OpKind, Phase};
use crate::{Init, Role, ShapeError, Source, TensorType, Value, ValueId};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Names a layer of one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayerId(pub u32);

/// Where in the model and when in a step an op belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The layer it is reported under.
    pub layer: Option<LayerId>,
    /// The part of the step.
    pub phase: Phase,
}

/// What is computed. Copies share what they have in common until one of them changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    name: String,
    layers: CheapList<String>,
    values: CheapList<Value>,
    ops: CheapList<Op>,
    outputs: Vec<ValueId>,
    /// What goes with the outputs, by their positions; nothing goes with those beyond its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Beside>,
    /// What a model adds to the loss by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    penalties: Vec<ValueId>,
}

/// What a model knows about one of its outputs, for the loss that judges it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// What the softmax or the sigmoid was applied to that made the output; of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logits: Option<ValueId>,
    /// Which positions count: 1, or 0 for padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<ValueId>,
}

impl Site {
    /// A forward op of a layer.
    pub fn forward(layer: LayerId) -> Self {
        Self { layer: Some(layer), phase: Phase::Forward }
    }
}

impl Graph {
    /// A graph without values.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            layers: CheapList::default(),
            values: CheapList::default(),
            ops: CheapList::default(),
            outputs: Vec::new(),
            beside: Vec::new(),
            penalties: Vec::new(),
        }
    }

    /// A graph with the same layers, inputs and persistent values and without ops; and for each value what stands for
    /// it there.
    pub fn without_ops(&self) -> (Self, Vec<Option<ValueId>>) {
        let mut new = Self { layers: self.layers.clone(), ..Self::new(self.name.as_str()) };
        let copied = self.values.iter().map(|value| match value.source {
            Source::Op(_) => None,
            Source::Input | Source::Persistent(_) => {
                new.values.to_mut().push(value.clone());
                Some(ValueId(new.values.len() as u32 - 1))
            }
        });
        let copied = copied.collect();
        (new, copied)
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the layers, in the order of their creation.
    pub fn layers(&self) -> &[String] {
        &self.layers
    }

    /// The name of one layer.
    pub fn layer_name(&self, layer: LayerId) -> &str {
        &self.layers[layer.0 as usize]
    }

    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All values with their names.
    pub fn value_ids(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (0..self.values.len() as u32).map(ValueId)
    }

    /// One value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The type of one value.
    pub fn tensor(&self, id: ValueId) -> &TensorType {
        &self.values[id.index()].tensor
    }

    /// All ops, each after the producers of what it reads.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The ids of all ops.
    pub fn op_ids(&self) -> impl DoubleEndedIterator<Item = OpId> + ExactSizeIterator + use<> {
        (0..self.ops.len() as u32).map(OpId)
    }

    /// One op.
    pub fn op(&self, id: OpId) -> &Op {
        &self.ops[id.index()]
    }

    /// What the caller may read after a step.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// The values the caller writes before each step.
    pub fn inputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.value_ids().filter(|&id| self.value(id).source == Source::Input)
    }

    /// The values that live across steps.
    pub fn persistents(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.value_ids().filter(|&id| matches!(self.value(id).source, Source::Persistent(_)))
    }

    /// The values of one role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = ValueId> + '_ {
        self.value_ids().filter(move |&id| self.value(id).role == role)
    }

    /// The first value of that name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.value_ids().find(|&id| self.value(id).name == name)
    }

    /// The number of elements of all values of a persistent role, as `count_params` counts them.
    pub fn elements_of(&self, role: Role) -> usize {
        self.persistents()
            .filter(|&id| self.value(id).role == role)
            .map(|id| self.tensor(id).shape.elements())
            .sum()
    }

    /// The name that is wanted, or one like it that no input and no persistent value has. Whoever adds values of its
    /// own to a graph asks for it, so that nothing a model calls its own is refused.
    pub fn free_name(&self, wanted: &str) -> String {
        let given = self.values.iter().filter(|value| !matches!(value.source, Source::Op(_)));
        let names: HashSet<&str> = given.map(|value| value.name.as_str()).collect();
        numbered(wanted).find(|name| !names.contains(name.as_str())).expect("numbers do not end")
    }

    /// The beginning that is wanted, or one like it, that no name of an input or of what the model itself keeps has,
    /// followed by `/`. It does not depend on what training has added, so that all graphs made from one model give the
    /// same.
    pub fn free_prefix(&self, wanted: &str) -> String {
        let own = self.values.iter().filter(|value| match value.source {
            Source::Op(_) => false,
            Source::Input => true,
            Source::Persistent(_) => !matches!(value.role, Role::OptimizerState | Role::Accumulator),
        });
        let names: Vec<&str> = own.map(|value| value.name.as_str()).collect();
        let begins = |prefix: &str| names.iter().any(|name| name.starts_with(prefix));
        let mut prefixes = numbered(wanted).map(|prefix| format!("{prefix}/"));
        prefixes.find(|prefix| !begins(prefix)).expect("numbers do not end")
    }

    /// Adds a layer name that values and ops can refer to.
    pub fn add_layer(&mut self, name: impl Into<String>) -> LayerId {
        self.layers.to_mut().push(name.into());
        LayerId(self.layers.len() as u32 - 1)
    }

    /// Adds a value that the caller writes before each step.
    pub fn add_input(&mut self, name: impl Into<String>, tensor: TensorType) -> Result<ValueId, ShapeError> {
        check_reasonable("input", &[], &tensor)?;
        Ok(self.add_value(name.into(), tensor, Role::Input, Source::Input, None))
    }

    /// Adds a value that lives across steps.
    ///
    /// # Panics
    /// If the role is not a persistent one.
    pub fn add_persistent(
        &mut self,
        name: impl Into<String>,
        tensor: TensorType,
        role: Role,
        init: Init,
        layer: Option<LayerId>,
    ) -> Result<ValueId, ShapeError> {
        assert!(role.is_persistent(), "{role} does not live across steps");
        check_reasonable(role.name(), &[], &tensor)?;
        Ok(self.add_value(name.into(), tensor, role, Source::Persistent(init), layer))
    }

    /// Adds an op and the values it produces, which get their types from the op's shape rule, their
    /// roles from the phase (or, for an update, from what it updates) and their names from the layer.
    pub fn add_op(
        &mut self,
        kind: OpKind,
        inputs: &[ValueId],
        site: Site,
    ) -> Result<Vec<ValueId>, ShapeError> {
        let input_types: Vec<TensorType> = inputs.iter().map(|&id| self.tensor(id).clone()).collect();
        let output_types = kind.infer(&input_types)?;
        let id = OpId(self.ops.len() as u32);
        let mut outputs = Vec::with_capacity(output_types.len());
        for (index, tensor) in output_types.into_iter().enumerate() {
            check_reasonable(kind.name(), &input_types, &tensor)?;
            // Most ops give what they take; equal shapes are then one.
            let tensor = input_types.iter().find(|input| **input == tensor).cloned().unwrap_or(tensor);
            let updated = kind.updates().into_iter().find(|update| update.output == index);
            let (name, role) = match updated {
                Some(update) => {
                    let old = self.value(inputs[update.input]);
                    (old.name.clone(), old.role)
                }
                None => (self.output_name(&kind, index, site), site.phase.role()),
            };
            outputs.push(self.add_value(name, tensor, role, Source::Op(id), site.layer));
        }
        self.ops.to_mut().push(Op {
            kind,
            inputs: inputs.to_vec(),
            outputs: outputs.clone(),
            layer: site.layer,
            phase: site.phase,
            again: false,
        });
        Ok(outputs)
    }

    /// Adds an op that has one output.
    ///
    /// # Panics
    /// If the op has several outputs.
    pub fn add_single(
        &mut self,
        kind: OpKind,
        inputs: &[ValueId],
        site: Site,
    ) -> Result<ValueId, ShapeError> {
        let outputs = self.add_op(kind, inputs, site)?;
        assert_eq!(outputs.len(), 1, "the op has several outputs");
        Ok(outputs[0])
    }

    /// Says that the op added last does what an op before it did.
    ///
    /// # Panics
    /// If there is no op.
    pub fn mark_again(&mut self) {
        self.ops.to_mut().last_mut().expect("an op was added").again = true;
    }

    /// Lets the caller read a value after a step.
    pub fn add_output(&mut self, value: ValueId) {
        self.outputs.push(value);
    }

    /// The same, with what goes with it.
    pub fn add_output_beside(&mut self, value: ValueId, beside: Beside) {
        self.add_output(value);
        if beside != Beside::default() {
            self.beside.resize(self.outputs.len(), Beside::default());
            *self.beside.last_mut().expect("there is an output") = beside;
        }
    }

    /// What goes with the output at a position.
    pub fn beside(&self, position: usize) -> Beside {
        self.beside.get(position).copied().unwrap_or_default()
    }

    /// Adds something to the loss: a scalar, or one number a sample, whose mean counts.
    pub fn add_penalty(&mut self, value: ValueId) {
        self.penalties.push(value);
    }

    /// What is added to the loss.
    pub fn penalties(&self) -> &[ValueId] {
        &self.penalties
    }

    /// Takes away the list of what the caller may read, what goes with it and what is added to the loss, so that
    /// another can be made.
    pub fn take_outputs(&mut self) -> Vec<ValueId> {
        self.beside.clear();
        self.penalties.clear();
        std::mem::take(&mut self.outputs)
    }

    /// Gives a value a name of its own instead of the one made from its layer and op.
    pub fn rename(&mut self, value: ValueId, name: impl Into<String>) {
        self.values.to_mut()[value.index()].name = name.into();
    }

    /// Lets another persistent value of the same type stand where this one does.
    pub fn replace_persistent(&mut self, value: ValueId, name: impl Into<String>, role: Role) {
        let value = &mut self.values.to_mut()[value.index()];
        (value.name, value.role) = (name.into(), role);
    }

    /// Gives back the room that was kept for more values and ops, once no more will come.
    pub fn trim(&mut self) {
        self.layers.trim();
        self.values.trim();
        self.ops.trim();
        self.outputs.shrink_to_fit();
    }

    fn output_name(&self, kind: &OpKind, index: usize, site: Site) -> String {
        let layer = site.layer.map_or("", |layer| self.layer_name(layer));
        let separator = if layer.is_empty() { "" } else { "/" };
        match index {
            0 => format!("{layer}{separator}{}", kind.name()),
            _ => format!("{layer}{separator}{}.{index}", kind.name()),
        }
    }

    fn add_value(
        &mut self,
        name: String,
        tensor: TensorType,
        role: Role,
        source: Source,
        layer: Option<LayerId>,
    ) -> ValueId {
        self.values.to_mut().push(Value { name, tensor, role, source, layer });
        ValueId(self.values.len() as u32 - 1)
    }
}

/// A name, then the same with a number.
fn numbered(name: &str) -> impl Iterator<Item = String> + '_ {
    std::iter::once(name.to_string()).chain((2u32..).map(move |number| format!("{name}_{number}")))
}

fn check_reasonable(op: &str, inputs: &[TensorType], tensor: &TensorType) -> Result<(), ShapeError> {
    let problem = if !tensor.shape.is_reasonable() {
        format!("{tensor} has more elements than any device can hold")
    } else if tensor.shape.elements() == 0 {
        format!("{tensor} has no elements")
    } else {
        return Ok(());
    };
    Err(ShapeError { op: op.to_string(), inputs: inputs.to_vec(), problem })
}
