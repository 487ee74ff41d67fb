//! Which dtype policies the layers of a model have. Results here are float32 whatever they say; a prediction of what
//! TensorFlow does has to follow them.

use serde_json::Value;

/// The name and the policy of every layer that has one, in the order of the file; models inside models, too. Inputs
/// compute nothing.
pub(super) fn policies(config: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(config, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => {
            let is_layer = map.get("class_name").is_some_and(|class| class != "InputLayer");
            if let Some(config) = map.get("config").filter(|_| is_layer) {
                found.extend(policy(config));
            }
            map.values().for_each(|inner| collect(inner, found));
        }
        _ => {}
    }
}

fn policy(config: &Value) -> Option<(String, String)> {
    let policy = config.get("dtype")?;
    let policy = policy.as_str().or_else(|| policy.pointer("/config/name").and_then(Value::as_str))?;
    Some((config.get("name")?.as_str()?.to_string(), policy.to_string()))
}
