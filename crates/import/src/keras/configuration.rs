//! The text of a configuration, read as JSON.

use super::KerasError;
use serde_json::Value;

/// The most bytes of a configuration. NASNetLarge has 1.1 MB.
pub(super) const LARGEST_CONFIG: u64 = 64 << 20;

pub(super) fn parse(text: &[u8]) -> Result<Value, KerasError> {
    if text.len() as u64 > LARGEST_CONFIG {
        let (what, found) = ("the configuration".to_string(), text.len() as u64);
        return Err(KerasError::TooLarge { what, found, most: LARGEST_CONFIG });
    }
    let text = std::str::from_utf8(text).map_err(|error| KerasError::Config(error.to_string()))?;
    let foreign = |error| KerasError::Foreign(format!("its configuration is no JSON: {error}"));
    let config: Value = serde_json::from_str(text).map_err(foreign)?;
    match config {
        // `to_json()` written with `json.dump` is a text in a text.
        Value::String(inner) => serde_json::from_str(&inner).map_err(foreign),
        config => Ok(config),
    }
}
