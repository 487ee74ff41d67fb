//! How a saved model was compiled: its losses and its optimizer, as far as a file says.

use super::config::Object;
use super::fields::shortened;
use serde_json::Value;

/// How a model was compiled. Names are Keras's in snake case, such as `sparse_categorical_crossentropy` and `adam`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// What training minimizes; nothing for an output that has no loss.
    pub loss: Option<ForOutputs<Option<Setting>>>,
    /// How much the losses count; all the same where nothing is said.
    pub loss_weights: Option<ForOutputs<Value>>,
    /// How.
    pub optimizer: Option<Setting>,
}

/// A loss or an optimizer with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The name in snake case.
    pub name: String,
    /// All its settings that are not null, and those whose null is another thing than their default.
    pub fields: Vec<(String, Value)>,
}

/// Something said about the outputs of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum ForOutputs<T> {
    /// The same for all.
    All(T),
    /// In the order of the outputs.
    Listed(Vec<T>),
    /// By the names of the outputs.
    Named(Vec<(String, T)>),
}

/// Settings of Muon, and the reduction of losses, that may be switched off by a null.
const MEANT: [&str; 4] = ["weight_decay", "adam_weight_decay", "rms_rate", "reduction"];

impl Setting {
    /// Reads what Keras writes for a loss, an optimizer or a schedule.
    pub fn of(value: &Value) -> Self {
        Self::read(value)
    }

    /// A setting by its name.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    fn read(value: &Value) -> Self {
        let class = value.get("class_name").and_then(Value::as_str);
        let function = value.get("config").filter(|_| class == Some("function"));
        if let Some(name) = value.as_str().or(function.and_then(Value::as_str)) {
            return Self { name: known_name(name), fields: Vec::new() };
        }
        let Ok(object) = Object::read(value) else {
            // Several losses for one output, or functions of one's own: no name is known for them.
            return Self { name: shortened(value), fields: Vec::new() };
        };
        let kept = |key: &str, value: &Value| !value.is_null() || MEANT.contains(&key);
        let fields = object.config.iter().filter(|(key, value)| kept(key, value));
        let fields = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
        let name = snake_case(object.class);
        // Whoever has registered a class may have called it as Keras calls one.
        let registered = value.get("registered_name").and_then(Value::as_str).unwrap_or_default();
        let known = object.module.is_empty() || object.module.starts_with("keras");
        let name =
            if known && !registered.contains('>') { name } else { format!("{name} of somebody's own") };
        Self { name, fields }
    }
}

impl<T> ForOutputs<T> {
    /// Reads one thing for all outputs, a list or a tuple of them, or a dictionary.
    fn read(value: &Value, one: impl Fn(&Value) -> T) -> Self {
        let class = value.get("class_name").and_then(Value::as_str);
        let tuple = value.get("items").filter(|_| class == Some("__tuple__"));
        match (value, tuple.unwrap_or(value).as_array()) {
            (_, Some(listed)) => Self::Listed(listed.iter().map(one).collect()),
            (Value::Object(named), None) if class.is_none() => {
                Self::Named(named.iter().map(|(name, value)| (name.clone(), one(value))).collect())
            }
            _ => Self::All(one(value)),
        }
    }
}

/// Reads `compile_config` of Keras 3, or the training configuration of a legacy file.
pub(super) fn read(value: &Value) -> Compiled {
    let get = |keys: [&str; 2]| keys.into_iter().find_map(|key| value.get(key)).filter(|one| !one.is_null());
    let loss = |value: &Value| (!value.is_null()).then(|| Setting::read(value));
    Compiled {
        loss: get(["loss", "loss"]).map(|value| ForOutputs::read(value, loss)),
        loss_weights: get(["loss_weights", "loss_weights"])
            .map(|value| ForOutputs::read(value, Value::clone)),
        optimizer: get(["optimizer", "optimizer_config"]).map(Setting::read),
    }
}

/// Keras takes the names of classes for those of functions.
fn known_name(name: &str) -> String {
    let is_class =
        name.chars().next().is_some_and(char::is_uppercase) && name.chars().any(char::is_lowercase);
    if is_class { snake_case(name) } else { name.to_string() }
}

/// `SparseCategoricalCrossentropy` as `sparse_categorical_crossentropy`; `SGD` and `AdamW` as Keras's short names.
fn snake_case(class: &str) -> String {
    match class {
        "RMSprop" => return "rmsprop".to_string(),
        "AdamW" => return "adamw".to_string(),
        "KLDivergence" => return "kl_divergence".to_string(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(loss: Value) -> ForOutputs<Option<String>> {
        let read = read(&json!({"loss": loss}));
        let name = |setting: Option<Setting>| setting.map(|setting| setting.name);
        match read.loss.unwrap() {
            ForOutputs::All(one) => ForOutputs::All(name(one)),
            ForOutputs::Listed(all) => ForOutputs::Listed(all.into_iter().map(name).collect()),
            ForOutputs::Named(all) => {
                ForOutputs::Named(all.into_iter().map(|(key, one)| (key, name(one))).collect())
            }
        }
    }

    #[test]
    fn losses_are_read_in_every_form_that_keras_writes() {
        let known = |name: &str| Some(name.to_string());
        let huber = json!({"module": "keras.losses", "class_name": "Huber", "config": {"delta": 0.5}});
        assert_eq!(names(json!("MSE")), ForOutputs::All(known("MSE")));
        assert_eq!(names(json!("MeanSquaredError")), ForOutputs::All(known("mean_squared_error")));
        assert_eq!(names(huber.clone()), ForOutputs::All(known("huber")));
        let function =
            json!({"module": "builtins", "class_name": "function", "config": "mean_absolute_error"});
        assert_eq!(names(function), ForOutputs::All(known("mean_absolute_error")));
        let whole = json!({"module": "keras.losses", "class_name": "Dice", "config": {"reduction": null, "axis": null}});
        let whole = Setting::read(&whole);
        assert_eq!((whole.field("reduction"), whole.field("axis")), (Some(&Value::Null), None));
        let listed = ForOutputs::Listed(vec![known("mse"), None, known("huber")]);
        assert_eq!(names(json!(["mse", null, huber])), listed);
        assert_eq!(names(json!({"class_name": "__tuple__", "items": ["mse", null, huber]})), listed);
        let named = ForOutputs::Named(vec![("a".to_string(), known("mse")), ("b".to_string(), None)]);
        assert_eq!(names(json!({"a": "mse", "b": null})), named);
        let weights = read(&json!({"loss_weights": {"a": 2.0}})).loss_weights;
        assert_eq!(weights, Some(ForOutputs::Named(vec![("a".to_string(), json!(2.0))])));
    }
}
