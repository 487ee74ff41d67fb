//! The fields of one layer's configuration, read strictly: what nobody has asked for is an error.
//!
//! Invariant: [`Fields::finish`] passes only if every field that can change a computation was looked at.

use super::KerasError;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::HashSet;

/// The fields of one layer.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    /// Where the layer is, such as `inner/dense`.
    pub(super) path: String,
    class: &'a str,
    read: RefCell<HashSet<&'a str>>,
    /// What was left out, in sentences.
    notes: &'a RefCell<Vec<String>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(
        map: &'a Map<String, Value>,
        path: String,
        class: &'a str,
        notes: &'a RefCell<Vec<String>>,
    ) -> Self {
        Self { map, path, class, read: RefCell::default(), notes }
    }

    /// The fields of an object inside this one, such as the layer of a wrapper.
    pub(super) fn inside(&self, map: &'a Map<String, Value>, class: &'a str) -> Self {
        Self::new(map, self.path.clone(), class, self.notes)
    }

    pub(super) fn class(&self) -> &'a str {
        self.class
    }

    /// A field that is there and not null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.map.get_key_value(key)?;
        self.read.borrow_mut().insert(key);
        (!value.is_null()).then_some(value)
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, KerasError> {
        self.read_as(key, "true or false", Value::as_bool).map(|flag| flag.unwrap_or(default))
    }

    pub(super) fn number(&self, key: &str, default: f64) -> Result<f64, KerasError> {
        let number = self.read_as(key, "a number", |value| value.as_f64().filter(|x| x.is_finite()))?;
        Ok(number.unwrap_or(default))
    }

    pub(super) fn text(&self, key: &str, default: &'a str) -> Result<&'a str, KerasError> {
        self.read_as(key, "a text", Value::as_str).map(|text| text.unwrap_or(default))
    }

    pub(super) fn integer(&self, key: &str) -> Result<Option<isize>, KerasError> {
        self.read_as(key, "an integer", as_integer)
    }

    /// A count that has no default.
    pub(super) fn count(&self, key: &str) -> Result<usize, KerasError> {
        self.optional_count(key)?.ok_or_else(|| self.problem(format!("`{key}` is missing")))
    }

    pub(super) fn optional_count(&self, key: &str) -> Result<Option<usize>, KerasError> {
        self.read_as(key, "a count", as_count)
    }

    /// A pair of counts, written as one number if they are equal.
    pub(super) fn pair(&self, key: &str) -> Result<Option<[usize; 2]>, KerasError> {
        self.read_as(key, "one or two counts", as_pair)
    }

    /// Three counts, written as one number if they are equal.
    pub(super) fn triple(&self, key: &str) -> Result<Option<[usize; 3]>, KerasError> {
        self.read_as(key, "one or three counts", as_triple)
    }

    /// A count, written alone or in a list of one, as layers of sequences have it.
    pub(super) fn single(&self, key: &str) -> Result<Option<usize>, KerasError> {
        let single = |value: &Value| match value.as_array().map(Vec::as_slice) {
            Some([one]) => as_count(one),
            Some(_) => None,
            None => as_count(value),
        };
        self.read_as(key, "a count", single)
    }

    /// A list of integers, or one of them alone.
    pub(super) fn integers(&self, key: &str) -> Result<Option<Vec<isize>>, KerasError> {
        let list = |value: &Value| match value.as_array() {
            Some(list) => list.iter().map(as_integer).collect(),
            None => as_integer(value).map(|one| vec![one]),
        };
        self.read_as(key, "a list of integers", list)
    }

    /// Refuses a field that is set to something that changes the computation in a way we cannot honour.
    pub(super) fn only(&self, key: &str, allowed: &[Value]) -> Result<(), KerasError> {
        match self.get(key) {
            Some(value) if !allowed.iter().any(|one| same(one, value)) => {
                Err(self.problem(format!("{key}={} is not supported", shortened(value))))
            }
            _ => Ok(()),
        }
    }

    /// Fields that change nothing that is computed here.
    pub(super) fn skip(&self, keys: &[&str]) {
        for key in keys {
            self.get(key);
        }
    }

    /// All fields, of a layer that is not done.
    pub(super) fn skip_all(&self) {
        self.read.borrow_mut().extend(self.map.keys().map(String::as_str));
    }

    /// Says something about the layer that its user should know.
    pub(super) fn note(&self, what: String) {
        self.notes.borrow_mut().push(format!("`{}` ({}): {what}", self.path, self.class));
    }

    pub(super) fn problem(&self, problem: impl Into<String>) -> KerasError {
        self.problem_with_hint(problem, None)
    }

    pub(super) fn problem_with_hint(&self, problem: impl Into<String>, hint: Option<&str>) -> KerasError {
        KerasError::Layer {
            path: self.path.clone(),
            class: self.class.to_string(),
            problem: problem.into(),
            hint: hint.map(str::to_string),
        }
    }

    /// Whether all fields were read.
    pub(super) fn finish(&self) -> Result<(), KerasError> {
        let read = self.read.borrow();
        let unread = self.map.iter().find(|(key, value)| !value.is_null() && !read.contains(key.as_str()));
        match unread {
            None => Ok(()),
            Some((key, value)) => Err(self.problem_with_hint(
                format!("its field {}={} is not known", shortened_text(key), shortened(value)),
                Some("it may change what the layer computes, so it is not left out silently"),
            )),
        }
    }

    fn read_as<T>(
        &self,
        key: &str,
        wanted: &str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, KerasError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = || self.problem(format!("{key}={} is not {wanted}", shortened(value)));
        convert(value).map(Some).ok_or_else(wrong)
    }
}

fn as_integer(value: &Value) -> Option<isize> {
    value.as_i64().and_then(|number| isize::try_from(number).ok())
}

/// Larger counts are typing errors or attacks; products of a few of them stay far from overflow.
pub(super) const LARGEST_COUNT: u64 = 1 << 32;

pub(super) fn as_count(value: &Value) -> Option<usize> {
    value.as_u64().filter(|&count| count <= LARGEST_COUNT).and_then(|count| usize::try_from(count).ok())
}

pub(super) fn as_pair(value: &Value) -> Option<[usize; 2]> {
    match value.as_array().map(Vec::as_slice) {
        Some([rows, columns]) => Some([as_count(rows)?, as_count(columns)?]),
        Some(_) => None,
        None => as_count(value).map(|one| [one; 2]),
    }
}

fn as_triple(value: &Value) -> Option<[usize; 3]> {
    match value.as_array().map(Vec::as_slice) {
        Some([a, b, c]) => Some([as_count(a)?, as_count(b)?, as_count(c)?]),
        Some(_) => None,
        None => as_count(value).map(|one| [one; 3]),
    }
}

/// Equal, where `1` and `1.0` are.
fn same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a))
}

/// A value in at most a line.
pub(super) fn shortened(value: &Value) -> String {
    shortened_text(&value.to_string())
}

fn shortened_text(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}
