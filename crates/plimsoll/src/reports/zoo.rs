//! The models that can be named.

use plimsoll_graph::Role;
use plimsoll_model::zoo::{self, Entry};
use plimsoll_model::{Mode, ModelError};
use serde::Serialize;
use std::collections::BTreeMap;

/// The models that can be named.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZooReport {
    /// Each of them.
    pub models: Vec<ZooModelReport>,
}

/// A model that can be named.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZooModelReport {
    /// How it is called.
    pub name: &'static str,
    /// What it is, in a line.
    pub description: &'static str,
    /// The size if none is given.
    pub size: usize,
    /// What the size is, in a word.
    pub unit: &'static str,
    /// All parameters at that size, as Keras counts them.
    pub parameters: usize,
    /// What can be set, and what it is if it is not.
    pub options: BTreeMap<&'static str, String>,
}

impl ZooReport {
    /// Counts the parameters of every model.
    pub fn new() -> Result<Self, ModelError> {
        let models: Result<_, _> = zoo::entries().iter().map(model).collect();
        Ok(Self { models: models? })
    }
}

fn model(entry: &Entry) -> Result<ZooModelReport, ModelError> {
    let built = zoo::find(entry.name).expect("the zoo knows its own entries");
    let graph = built.lower(1, Mode::Inference)?;
    Ok(ZooModelReport {
        name: entry.name,
        description: entry.description,
        size: entry.default_size,
        unit: entry.unit,
        parameters: graph.elements_of(Role::Parameter) + graph.elements_of(Role::Statistic),
        options: entry.options.iter().map(|option| (option.name, option.default.to_string())).collect(),
    })
}
