//! Fields of layers that are about a weight, such as `kernel_constraint`: which weights each is about.

use super::config::Object;
use super::fields::shortened;
use super::naming::Names;
use super::{KerasError, Weight};
use serde_json::Value;

/// A field that is set, and a weight that it is about.
pub(super) struct WeightField<'a> {
    pub(super) weight: &'a Weight,
    pub(super) value: &'a Value,
    key: &'a str,
    class: &'a str,
    /// The layer.
    path: String,
}

impl WeightField<'_> {
    /// The refusal of a value that is not known, or that the weight cannot have.
    pub(super) fn refusal(&self) -> KerasError {
        KerasError::Layer {
            path: self.path.clone(),
            class: self.class.to_string(),
            problem: format!("{}={} is not supported", self.key, shortened(self.value)),
            hint: None,
        }
    }
}

/// All fields of a model's layers that end in this, such as `_constraint`, with the weights they are about; a weight is
/// there once.
pub(super) fn list<'a>(config: &'a Value, ending: &'a str, weights: &'a [Weight]) -> Vec<WeightField<'a>> {
    let mut walk = Walk { ending, weights, found: Vec::new() };
    if let Ok(object) = Object::read(config) {
        walk.visit(&object, String::new());
    }
    walk.found
}

struct Walk<'a> {
    ending: &'a str,
    weights: &'a [Weight],
    found: Vec<WeightField<'a>>,
}

impl<'a> Walk<'a> {
    /// Looks at a layer or a model; the names of its weights begin with `begins`.
    fn visit(&mut self, object: &Object<'a>, begins: String) {
        if object.is_model() {
            for layer in object.layers().unwrap_or_default() {
                self.visit(&layer.object, format!("{begins}{}/", layer.name));
            }
            return;
        }
        self.add_own(object, &begins);
        for (inner, begins) in inside(object, &begins) {
            self.visit(&inner, begins);
        }
    }

    fn add_own(&mut self, object: &Object<'a>, begins: &str) {
        for (key, value) in object.config.iter().filter(|(_, value)| !value.is_null()) {
            let Some(what) = key.strip_suffix(self.ending) else { continue };
            let own = |weight: &&Weight| weight.name.starts_with(begins) && is(&weight.name, what);
            for weight in self.weights.iter().filter(own) {
                if !self.found.iter().any(|field| std::ptr::eq(field.weight, weight)) {
                    let path = begins.trim_end_matches('/').to_string();
                    self.found.push(WeightField { weight, value, key, class: object.class, path });
                }
            }
        }
    }
}

/// The layers and cells inside a layer, with what the names of their weights begin with.
fn inside<'a>(object: &Object<'a>, begins: &str) -> Vec<(Object<'a>, String)> {
    let inner = |key: &str| object.config.get(key).and_then(|value| Object::read(value).ok());
    let same = begins.to_string();
    match object.class {
        "Bidirectional" => {
            let backward = inner("backward_layer").or_else(|| inner("layer"));
            let forward = inner("layer").map(|layer| (layer, format!("{begins}forward_")));
            forward.into_iter().chain(backward.map(|layer| (layer, format!("{begins}backward_")))).collect()
        }
        "StackedRNNCells" => {
            let mut names = Names::default();
            let cells = object.config.get("cells").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let cells = cells.iter().filter_map(|cell| Object::read(cell).ok());
            cells
                .map(|cell| {
                    let name = names.next(cell.class);
                    (cell, format!("{begins}cells/{name}/"))
                })
                .collect()
        }
        _ => inner("cell").or_else(|| inner("layer")).map(|layer| (layer, same)).into_iter().collect(),
    }
}

/// Whether a weight is what a field of a layer is about.
fn is(weight: &str, what: &str) -> bool {
    let name = weight.rsplit('/').next().unwrap_or_default();
    match what {
        "recurrent" | "depthwise" | "pointwise" => {
            name == format!("{what}_kernel") || (what == "depthwise" && name == "kernel")
        }
        _ => name == what,
    }
}
