//! Which weight of a file is which parameter.
//!
//! Keras 3 writes the weights of a layer as `<place>/vars/0`, `vars/1` and so on, and those of its parts beneath it.
//! Legacy files list, for each layer of the outermost model, the names of its weights: first those that training
//! changes, then the others.

use super::KerasError;
use super::assembly::Place;
use super::store::Store;
use plimsoll_graph::{ElementType, Graph, Role, ValueId};
use plimsoll_model::{Layer, Model};
use std::collections::{BTreeMap, HashMap};

/// One weight: a parameter or statistic of the graph, and where it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// How the graph calls it, such as `conv1/kernel`.
    pub name: String,
    /// Where Keras 3 keeps it, such as `layers/conv2d/vars/0`.
    pub path: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The layer of the outermost model that it belongs to.
    pub(super) top: String,
    /// Whether training changes it.
    pub(super) learned: bool,
}

/// The weights of a model in the order of its graph, and its counts, which are no floats and which nothing reads.
pub(super) fn list(model: &Model, graph: &Graph, places: &[Place]) -> (Vec<Weight>, Vec<Weight>) {
    let (mut weights, mut others) = (Vec::new(), Vec::new());
    for (position, (node, place)) in model.nodes.iter().zip(places).enumerate() {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for id in Model::weights(graph, position) {
            let own = graph.value(id).name.strip_prefix(&format!("{}/", node.name)).unwrap_or_default();
            let part = part(&node.layer, own);
            let index = counts.entry(part.clone()).or_insert(0);
            let path = format!("{}{part}/vars/{index}", place.path);
            let list = if graph.tensor(id).element == ElementType::F32 { &mut weights } else { &mut others };
            list.push(weight(graph, id, place, path));
            *index += 1;
        }
    }
    (weights, others)
}

/// Where the weights stand in a legacy file: by layer, in the order of the lists.
pub(super) fn legacy_paths(weights: &[Weight], store: &Store, root: &str) -> Result<Vec<String>, KerasError> {
    let mut by_top: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, weight) in weights.iter().enumerate() {
        by_top.entry(&weight.top).or_default().push(position);
    }
    let mut paths = vec![String::new(); weights.len()];
    for (top, mut positions) in by_top {
        positions.sort_by_key(|&position| !weights[position].learned);
        let group = format!("{root}{top}");
        let names = store.texts(&group, "weight_names")?;
        let floats: Vec<&String> = names.iter().filter(|name| !is_count(name)).collect();
        if floats.len() != positions.len() {
            let problem = format!("the file has {}, the model {}", floats.len(), positions.len());
            return Err(KerasError::weights(&group, problem));
        }
        for (position, name) in positions.into_iter().zip(floats) {
            paths[position] = format!("{group}/{name}");
        }
    }
    Ok(paths)
}

fn weight(graph: &Graph, id: ValueId, place: &Place, path: String) -> Weight {
    let value = graph.value(id);
    Weight {
        name: value.name.clone(),
        path,
        shape: value.tensor.shape.extents().to_vec(),
        top: place.top.clone(),
        learned: value.role == Role::Parameter,
    }
}

/// The part of a layer that a parameter belongs to, as a path that begins with `/`, or nothing for the layer itself.
fn part(layer: &Layer, parameter: &str) -> String {
    let inner = match layer {
        Layer::TimeDistributed(wrapper) => return format!("/layer{}", part(&wrapper.layer, parameter)),
        Layer::StackedRnn(_) => {
            return parameter.rsplit_once('/').map_or(String::new(), |(part, _)| format!("/cell/{part}"));
        }
        Layer::ChannelsFirst(turned) => return part(&turned.layer, parameter),
        _ => parameter.rsplit_once('/').map_or("", |(parts, _)| parts),
    };
    let (attention, grouped) = match layer {
        Layer::MultiHeadAttention(attention) => (true, attention.key_value_heads.is_some()),
        _ => (false, false),
    };
    let name = |part: &str| match part {
        "query" | "key" | "value" if attention && !grouped => format!("/{part}_dense"),
        "query" | "key" | "value" | "gate" if attention => format!("/_{part}_dense"),
        "attention_output" if grouped => "/_output_dense".to_string(),
        "attention_output" => "/output_dense".to_string(),
        _ if part.starts_with("forward_") => "/forward_layer".to_string(),
        _ if part.starts_with("backward_") => "/backward_layer".to_string(),
        _ if part.ends_with("_cell") => "/cell".to_string(),
        _ => format!("/{part}"),
    };
    inner.split('/').filter(|part| !part.is_empty()).map(name).collect()
}

/// The count of samples that a normalization keeps.
pub(super) fn is_count(name: &str) -> bool {
    matches!(name.rsplit('/').next(), Some("count" | "count:0"))
}
