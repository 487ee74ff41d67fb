//! Numbers among the settings that Keras writes.

use plimsoll_import::keras::Setting;
use serde_json::Value;

/// The settings of an optimizer or a schedule.
pub(super) struct Numbers<'a> {
    pub(super) setting: &'a Setting,
    /// What it is, for messages.
    pub(super) what: &'a str,
}

impl Numbers<'_> {
    /// A number, or its default.
    pub(super) fn number(&self, key: &str, default: f64) -> Result<f64, String> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// A number, if there is one.
    pub(super) fn optional(&self, key: &str) -> Result<Option<f64>, String> {
        match self.setting.field(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|number| number.is_finite()) {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(key, value)),
            },
        }
    }

    /// A number that may be switched off by a null.
    pub(super) fn unless_null(&self, key: &str, default: f64) -> Result<Option<f64>, String> {
        match self.setting.field(key) {
            Some(Value::Null) => Ok(None),
            _ => self.number(key, default).map(Some),
        }
    }

    /// A count, if there is one.
    pub(super) fn count(&self, key: &str) -> Result<Option<u32>, String> {
        let Some(number) = self.optional(key)? else { return Ok(None) };
        let whole = number >= 0.0 && number.fract() == 0.0 && number <= f64::from(i32::MAX);
        match whole {
            true => Ok(Some(number as u32)),
            false => Err(format!("the {} has {key}={number}, which is no count", self.what)),
        }
    }

    /// Whether something is on.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, String> {
        match self.setting.field(key) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(value) => Err(self.wrong(key, value)),
        }
    }

    /// A list of numbers.
    pub(super) fn list(&self, key: &str) -> Result<Vec<f64>, String> {
        let value = self.setting.field(key).unwrap_or(&Value::Null);
        let numbers = value.as_array().map(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
        numbers.flatten().ok_or_else(|| self.wrong(key, value))
    }

    /// Refuses settings that nobody knows.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), String> {
        let idle = |key: &str, value: &Value| {
            let off = matches!(value, Value::Null | Value::Bool(false)) || value.as_f64() == Some(0.0);
            known.contains(&key) || off
        };
        match self.setting.fields.iter().find(|(key, value)| !idle(key, value)) {
            None => Ok(()),
            Some((key, value)) => Err(format!(
                "the {} {} has {key}={value}, which is not supported",
                self.what, self.setting.name
            )),
        }
    }

    fn wrong(&self, key: &str, value: &Value) -> String {
        format!("the {} {} has {key}={value}", self.what, self.setting.name)
    }
}
