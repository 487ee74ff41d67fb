//! How a saved model was compiled: its loss and its optimizer, as far as a file says.

use super::config::Object;
use super::fields::shortened;
use serde_json::Value;

/// How a model was compiled. Names are Keras's in snake case, such as `sparse_categorical_crossentropy` and `adam`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// What training minimizes.
    pub loss: Option<Setting>,
    /// How.
    pub optimizer: Option<Setting>,
}

/// A loss or an optimizer with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The name in snake case.
    pub name: String,
    /// All its settings that are not null.
    pub fields: Vec<(String, Value)>,
}

impl Setting {
    /// A setting by its name.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    fn read(value: &Value) -> Self {
        if let Some(name) = value.as_str() {
            return Self { name: name.to_string(), fields: Vec::new() };
        }
        let Ok(object) = Object::read(value) else {
            // Several losses, or functions of one's own: no name is known for them.
            return Self { name: shortened(value), fields: Vec::new() };
        };
        let fields = object.config.iter().filter(|(_, value)| !value.is_null());
        let fields = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { name: snake_case(object.class), fields }
    }
}

/// Reads `compile_config` of Keras 3, or the training configuration of a legacy file.
pub(super) fn read(value: &Value) -> Compiled {
    let get = |keys: [&str; 2]| keys.into_iter().find_map(|key| value.get(key)).filter(|one| !one.is_null());
    Compiled {
        loss: get(["loss", "loss"]).map(Setting::read),
        optimizer: get(["optimizer", "optimizer_config"]).map(Setting::read),
    }
}

/// `SparseCategoricalCrossentropy` as `sparse_categorical_crossentropy`; `SGD` and `AdamW` as Keras's short names.
fn snake_case(class: &str) -> String {
    match class {
        "RMSprop" => return "rmsprop".to_string(),
        "AdamW" => return "adamw".to_string(),
        _ => {}
    }
    let mut name = String::new();
    let mut before = 'A';
    for letter in class.chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
        before = letter;
    }
    name
}
