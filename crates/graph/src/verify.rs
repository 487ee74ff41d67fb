//! The verifier: does a document hold together?
//!
//! It trusts nothing that building a graph checks, because graphs are also read from files.

use crate::{Graph, OpId, Role, ShapeError, Source, ValueId};
use std::collections::{HashMap, HashSet};

/// What is wrong with a graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum GraphError {
    #[error("op {op} reads or writes {value}, which does not exist", op = .op.0)]
    UnknownValue { op: OpId, value: ValueId },
    #[error("op {op} reads {value} before anything has produced it", op = .op.0)]
    ReadBeforeWritten { op: OpId, value: ValueId },
    #[error("{value} names op {op} as its producer, but that op does not produce it", op = .op.0)]
    WrongProducer { value: ValueId, op: OpId },
    #[error("op {op}: {error}", op = .op.0)]
    Shape { op: OpId, error: ShapeError },
    #[error("op {op} gives {value} another type than the graph says", op = .op.0)]
    WrongType { op: OpId, value: ValueId },
    #[error("op {op} updates {value}, which is not persistent or was updated before", op = .op.0)]
    BadUpdate { op: OpId, value: ValueId },
    #[error("{value} has the role {role}, which does not go with where it comes from")]
    WrongRole { value: ValueId, role: Role },
    #[error("two inputs or persistent values are called `{name}`")]
    SameName { name: String },
    #[error("the graph lists {value} as an output, but it does not exist")]
    UnknownOutput { value: ValueId },
    #[error("{what} refers to a layer that does not exist")]
    UnknownLayer { what: String },
    #[error("{value} has an impossible shape")]
    BadShape { value: ValueId },
}

/// Checks the equations above [`Graph`].
pub fn verify(graph: &Graph) -> Result<(), GraphError> {
    verify_values(graph)?;
    let mut produced: HashSet<ValueId> =
        graph.value_ids().filter(|&id| !matches!(graph.value(id).source, Source::Op(_))).collect();
    let mut updated = HashSet::new();
    for id in graph.op_ids() {
        let op = graph.op(id);
        let exists = |value: &&ValueId| value.index() < graph.values().len();
        if let Some(&value) = op.inputs.iter().chain(&op.outputs).find(|value| !exists(value)) {
            return Err(GraphError::UnknownValue { op: id, value });
        }
        if let Some(&value) = op.inputs.iter().find(|value| !produced.contains(value)) {
            return Err(GraphError::ReadBeforeWritten { op: id, value });
        }
        let inputs: Vec<_> = op.inputs.iter().map(|&value| graph.tensor(value).clone()).collect();
        let types = op.kind.infer(&inputs).map_err(|error| GraphError::Shape { op: id, error })?;
        for (index, &value) in op.outputs.iter().enumerate() {
            if graph.value(value).source != Source::Op(id) || !produced.insert(value) {
                return Err(GraphError::WrongProducer { value, op: id });
            }
            if types.get(index) != Some(graph.tensor(value)) || types.len() != op.outputs.len() {
                return Err(GraphError::WrongType { op: id, value });
            }
        }
        for update in op.kind.updates() {
            let value = op.inputs[update.input];
            let is_persistent = matches!(graph.value(value).source, Source::Persistent(_));
            if !is_persistent || !updated.insert(value) {
                return Err(GraphError::BadUpdate { op: id, value });
            }
        }
        if op.layer.is_some_and(|layer| layer.0 as usize >= graph.layers().len()) {
            return Err(GraphError::UnknownLayer { what: format!("op {}", id.0) });
        }
    }
    Ok(())
}

fn verify_values(graph: &Graph) -> Result<(), GraphError> {
    let mut names = HashMap::new();
    for id in graph.value_ids() {
        let value = graph.value(id);
        if !value.tensor.shape.is_reasonable() || value.tensor.shape.elements() == 0 {
            return Err(GraphError::BadShape { value: id });
        }
        if value.layer.is_some_and(|layer| layer.0 as usize >= graph.layers().len()) {
            return Err(GraphError::UnknownLayer { what: id.to_string() });
        }
        let role_fits = match value.source {
            Source::Input => value.role == Role::Input,
            Source::Persistent(_) => value.role.is_persistent(),
            Source::Op(op) => {
                let produces = graph.ops().get(op.index()).is_some_and(|op| op.outputs.contains(&id));
                if !produces {
                    return Err(GraphError::WrongProducer { value: id, op });
                }
                value.role != Role::Input && value.role != Role::Workspace
            }
        };
        if !role_fits {
            return Err(GraphError::WrongRole { value: id, role: value.role });
        }
        let named = !matches!(value.source, Source::Op(_));
        if named && names.insert(value.name.as_str(), id).is_some() {
            return Err(GraphError::SameName { name: value.name.clone() });
        }
    }
    let beside = (0..graph.outputs().len()).map(|position| graph.beside(position));
    let beside = beside.flat_map(|beside| [beside.logits, beside.mask]).flatten();
    let mut read = graph.outputs().iter().chain(graph.penalties()).copied().chain(beside);
    match read.find(|value| value.index() >= graph.values().len()) {
        Some(value) => Err(GraphError::UnknownOutput { value }),
        None => Ok(()),
    }
}
