//! Models as people write them: a name of the zoo with its options, or the path of a Keras file.
//!
//! `resnet50@224`, `cnn@8,channels=1`, `model.keras`, `model.keras@224`.

use crate::{Note, data};
use plimsoll_import::keras::{self, Keras, KerasError};
use plimsoll_model::Model;
use plimsoll_model::zoo::{self, ZooError};
use std::path::Path;

/// The model that a specification names, or the file it is the path of. A data set fills in the size where it is left
/// out.
pub fn open(specification: &str, data: Option<&str>) -> Result<Opened, SpecificationError> {
    let Some((path, size)) = file(specification) else {
        return Ok(Opened { model: zoo::find(&sized(specification, data))?, keras: None });
    };
    let size = size.or(data.and_then(data::sample_shape).map(|shape| shape[0]));
    let failed = |error| SpecificationError::File { path: path.to_string(), error: Box::new(error) };
    let keras = keras::read(Path::new(path), size).map_err(failed)?;
    keras.check_weights().map_err(failed)?;
    Ok(Opened { model: keras.model.clone(), keras: Some(keras) })
}

/// The model of a specification alone.
pub fn find(specification: &str) -> Result<Model, SpecificationError> {
    Ok(open(specification, None)?.model)
}

/// A model, and the file it comes from.
pub struct Opened {
    /// The model.
    pub model: Model,
    /// What else its file says; nothing for a model of the zoo.
    pub keras: Option<Keras>,
}

impl Opened {
    /// What is done otherwise than the file says.
    pub fn notes(&self) -> Vec<Note> {
        let notes = self.keras.iter().flat_map(|keras| &keras.notes);
        notes.map(|note| Note::File(note.to_string())).collect()
    }
}

/// A specification that names no model.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum SpecificationError {
    #[error(transparent)]
    Zoo(#[from] ZooError),
    #[error("{path}: {error}")]
    File { path: String, error: Box<KerasError> },
}

/// The path of a file and the size behind it, if it is one.
fn file(specification: &str) -> Option<(&str, Option<usize>)> {
    let (path, size) = match specification.rsplit_once('@') {
        Some((path, size)) if size.parse::<usize>().is_ok() => (path, size.parse().ok()),
        _ => (specification, None),
    };
    let known = [".keras", ".json", ".h5", ".hdf5"].iter().any(|end| path.ends_with(end));
    known.then_some((path, size))
}

/// Where a specification leaves out the size and a data set has one, the data's size (and channels) is taken: with
/// digits, `cnn` means `cnn@8,channels=1`.
fn sized(specification: &str, data: Option<&str>) -> String {
    let end = specification.find(['@', ',']).unwrap_or(specification.len());
    let (name, rest) = specification.split_at(end);
    let entry = zoo::entries().iter().find(|entry| entry.name == name);
    let (Some(entry), Some(shape)) = (entry, data.and_then(data::sample_shape)) else {
        return specification.to_string();
    };
    if rest.starts_with('@') {
        return specification.to_string();
    }
    match entry.unit {
        "features" => format!("{name}@{}{rest}", shape.elements()),
        "pixels" if !rest.contains("channels=") => {
            format!("{name}@{}{rest},channels={}", shape[0], shape.last())
        }
        "pixels" => format!("{name}@{}{rest}", shape[0]),
        _ => specification.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_ends() {
        assert_eq!(file("a/b.keras"), Some(("a/b.keras", None)));
        assert_eq!(file("b.h5@224"), Some(("b.h5", Some(224))));
        assert_eq!(file("me@home/b.json"), Some(("me@home/b.json", None)));
        assert_eq!(file("resnet50@224"), None);
    }

    #[test]
    fn data_fill_in_the_size() {
        let cases = [
            ("cnn", "cnn@8,channels=1"),
            ("cnn,classes=12", "cnn@8,classes=12,channels=1"),
            ("cnn@16", "cnn@16"),
            ("mlp", "mlp@64"),
            ("lstm", "lstm"),
            ("unknown", "unknown"),
        ];
        for (written, meant) in cases {
            assert_eq!(sized(written, Some("digits")), meant);
            assert_eq!(sized(written, Some("synthetic")), written);
            assert_eq!(sized(written, None), written);
        }
    }
}
