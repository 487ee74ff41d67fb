//! The JSON forms of Keras: an object with its class, a layer of a model, and where a tensor comes from.

use super::KerasError;
use super::fields::shortened;
use serde_json::{Map, Value};

/// A serialized object: a layer, an initializer, an optimizer.
pub(super) struct Object<'a> {
    pub(super) class: &'a str,
    /// Empty in files of Keras 2. A class that was registered has the name it was registered by.
    pub(super) module: &'a str,
    pub(super) config: &'a Map<String, Value>,
}

/// A layer in the list of its model.
pub(super) struct LayerConfig<'a> {
    pub(super) object: Object<'a>,
    pub(super) name: &'a str,
    /// One for each time it is called; nothing in a sequential model.
    pub(super) inbound: &'a [Value],
}

/// Where a tensor comes from: the layer, which of its calls, which of its results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct History<'a> {
    pub(super) layer: &'a str,
    pub(super) call: usize,
    pub(super) result: usize,
}

impl<'a> Object<'a> {
    pub(super) fn read(value: &'a Value) -> Result<Self, KerasError> {
        let broken = || KerasError::Config(format!("{} is no object with a class", shortened(value)));
        let class = value.get("class_name").and_then(Value::as_str).ok_or_else(broken)?;
        let config = value.get("config").and_then(Value::as_object).ok_or_else(broken)?;
        let said = |key: &str| value.get(key).and_then(Value::as_str);
        let module = said("module").or(said("registered_name")).unwrap_or_default();
        Ok(Self { class, module, config })
    }

    /// Whether it is a model, which has layers of its own.
    pub(super) fn is_model(&self) -> bool {
        matches!(self.class, "Functional" | "Model" | "Sequential") && self.config.contains_key("layers")
    }

    /// The layers of a model.
    pub(super) fn layers(&self) -> Result<Vec<LayerConfig<'a>>, KerasError> {
        let layers = self.config.get("layers").and_then(Value::as_array);
        let layers = layers.ok_or_else(|| KerasError::Config(format!("the {} has no layers", self.class)))?;
        layers.iter().map(LayerConfig::read).collect()
    }
}

impl<'a> LayerConfig<'a> {
    fn read(value: &'a Value) -> Result<Self, KerasError> {
        let object = Object::read(value)?;
        let name = value.get("name").or(object.config.get("name")).and_then(Value::as_str);
        let nameless = || KerasError::Config(format!("a layer ({}) has no name", object.class));
        let name = name.filter(|name| !name.is_empty()).ok_or_else(nameless)?;
        let inbound = value.get("inbound_nodes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Ok(Self { object, name, inbound })
    }
}

impl<'a> History<'a> {
    /// Reads `[layer, call, result]`, which may go on with more.
    pub(super) fn read(value: &'a Value) -> Option<Self> {
        let [layer, call, result, ..] = value.as_array()?.as_slice() else { return None };
        let index = |value: &Value| usize::try_from(value.as_u64()?).ok();
        Some(Self { layer: layer.as_str()?, call: index(call)?, result: index(result)? })
    }

    /// Reads one or several of them, as `input_layers` and `output_layers` are written: alone, in lists and in
    /// dictionaries, also one in another.
    pub(super) fn read_all(value: Option<&'a Value>) -> Result<Vec<Self>, KerasError> {
        Ok(Self::read_keyed(value)?.into_iter().map(|(_, one)| one).collect())
    }

    /// The same, each with the key that it has in a dictionary.
    pub(super) fn read_keyed(value: Option<&'a Value>) -> Result<Vec<(Option<&'a str>, Self)>, KerasError> {
        let mut found = Vec::new();
        let read = value.and_then(|value| Self::collect(value, None, DEEPEST, &mut found));
        read.ok_or_else(|| {
            KerasError::Config("its inputs or outputs are no layers in lists or dictionaries".to_string())
        })?;
        Ok(found)
    }

    fn collect(
        value: &'a Value,
        key: Option<&'a str>,
        depth: usize,
        found: &mut Vec<(Option<&'a str>, Self)>,
    ) -> Option<()> {
        if let Some(one) = Self::read(value) {
            found.push((key, one));
            return Some(());
        }
        let deeper = depth.checked_sub(1)?;
        match value {
            // Keras goes through keys in alphabetical order, and so does the map.
            Value::Object(keyed) => {
                keyed.iter().try_for_each(|(key, one)| Self::collect(one, Some(key), deeper, found))
            }
            Value::Array(list) => list.iter().try_for_each(|one| Self::collect(one, None, deeper, found)),
            _ => None,
        }
    }
}

/// How deep lists and dictionaries of inputs may stand in each other.
const DEEPEST: usize = 8;
