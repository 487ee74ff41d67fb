//! What an optimizer remembered when a model was saved: a list of variables, in the order in which Keras made them.
//!
//! Keras 3 writes them as `optimizer/vars/0`, `vars/1` and so on; legacy files list their names. What each means is a
//! question of the optimizer, which is asked elsewhere.

use super::document::Kind;
use super::{Keras, KerasError, Weight, config::Object};
use crate::keras::assembly::Assembly;
use std::collections::HashMap;

/// Where Keras 3 keeps the variables of an optimizer.
pub(super) const VARIABLES: &str = "optimizer/vars";
const LEGACY: &str = "optimizer_weights";

/// What is written for one variable of an optimizer.
#[derive(Clone, Debug, PartialEq)]
pub enum OptimizerVariable {
    /// A count, `int64`.
    Count(i64),
    /// A number, `float32`.
    Number(f32),
    /// A place that is kept for nothing, `int32`.
    Nothing,
    /// A tensor of the state, by its name.
    Tensor(String),
    /// A tensor of this shape in which all elements are the same.
    Filled(Vec<usize>, f32),
}

impl Keras {
    /// The weights that training changes, by their positions, in the order of Keras's `trainable_variables`.
    pub fn trainable(&self) -> Vec<usize> {
        let mut ranks = HashMap::new();
        if let Ok(object) = Object::read(&self.document.config) {
            rank_layers(&object, "", &mut ranks);
        }
        let rank = |weight: &Weight| {
            let mut path = weight.path.as_str();
            while let Some((outer, _)) = path.rsplit_once('/') {
                if let Some(rank) = ranks.get(outer) {
                    return *rank;
                }
                path = outer;
            }
            usize::MAX
        };
        let mut positions: Vec<usize> =
            (0..self.weights.len()).filter(|&position| self.weights[position].learned).collect();
        positions.sort_by_key(|&position| rank(&self.weights[position]));
        positions
    }

    /// Where the variables that the optimizer saved stand in the file; none where it saved nothing.
    pub fn optimizer_variables(&self) -> Vec<String> {
        let Some(store) = &self.document.store else { return Vec::new() };
        match self.document.kind {
            Kind::Legacy => {
                let names = store.texts(LEGACY, "weight_names").unwrap_or_default();
                names.iter().map(|name| format!("{LEGACY}/{name}")).collect()
            }
            Kind::Archive | Kind::Json => {
                let paths = (0..).map(|position| format!("{VARIABLES}/{position}"));
                paths.take_while(|path| store.has(path)).collect()
            }
        }
    }

    /// A variable of the optimizer that is one number; nothing if it is none, or not finite.
    pub fn optimizer_number(&self, path: &str) -> Option<f64> {
        let store = self.document.store.as_ref()?;
        if let Some(integer) = store.integer(path) {
            return Some(f64::from(integer));
        }
        let mut number = [0.0];
        store.read(path, &[], 0, &mut number).ok()?;
        Some(f64::from(number[0])).filter(|number| number.is_finite())
    }

    /// Reads elements of a variable of the optimizer, from the one of that number on.
    pub fn read_optimizer(
        &self,
        path: &str,
        shape: &[usize],
        start: usize,
        into: &mut [f32],
    ) -> Result<(), KerasError> {
        let missing = || KerasError::weights(path, "the file has no weights");
        self.document.store.as_ref().ok_or_else(missing)?.read(path, shape, start, into)
    }

    /// Whether what the optimizer remembers can be saved with the model so that Keras goes on. It opens legacy files
    /// with such a list, and then refuses to train.
    pub fn keeps_optimizer(&self) -> bool {
        self.document.kind != Kind::Legacy
    }
}

/// Numbers the places of all layers in the order of their lists, those of models inside models where these stand.
fn rank_layers(object: &Object<'_>, prefix: &str, ranks: &mut HashMap<String, usize>) {
    let Ok(layers) = object.layers() else { return };
    for (layer, file_name) in layers.iter().zip(Assembly::file_names(&layers)) {
        let path = format!("{prefix}layers/{file_name}");
        ranks.insert(path.clone(), ranks.len());
        if layer.object.is_model() {
            rank_layers(&layer.object, &format!("{path}/"), ranks);
        }
    }
}
