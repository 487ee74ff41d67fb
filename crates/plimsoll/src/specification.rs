//! Models as people write them: a name of the zoo with its options, or the path of a Keras file.
//!
//! `resnet50@224`, `cnn@8,channels=1`, `model.keras`, `model.keras@224`.

use crate::Note;
use crate::data::Outline;
use plimsoll_import::keras::{self, Keras, KerasError};
use plimsoll_model::Model;
use plimsoll_model::zoo::{self, ZooError};
use std::path::{Component, Path, PathBuf};

/// The model that a specification names, or the file it is the path of. A data set fills in the size where it is left
/// out.
pub fn open(specification: &str, data: Option<&Outline>) -> Result<Opened, SpecificationError> {
    let Some((path, size)) = file(specification) else {
        if Path::new(specification).is_dir() {
            let saved = Path::new(specification).join("saved_model.pb").exists();
            return Err(SpecificationError::Folder { path: specification.to_string(), saved });
        }
        if Path::new(specification).is_file() {
            let ending = "its name ends neither in .keras nor in .json or .h5".to_string();
            let error = Box::new(KerasError::Foreign(ending));
            return Err(SpecificationError::File { path: specification.to_string(), error });
        }
        return Ok(Opened { model: zoo::find(&sized(specification, data))?, keras: None });
    };
    let shape = data.and_then(|data| data.shape.as_ref());
    let size = size.or(shape.map(|shape| shape[0]));
    let failed = |error| SpecificationError::File { path: path.to_string(), error: Box::new(error) };
    let keras = keras::read(Path::new(path), size).map_err(failed)?;
    keras.check_weights().map_err(failed)?;
    Ok(Opened { model: keras.model.clone(), keras: Some(keras) })
}

/// The layers of the file that a specification names, also where some of them cannot be computed here; nothing for
/// what is no file of Keras.
pub fn outline(specification: &str) -> Option<keras::Outline> {
    let (path, _) = file(specification)?;
    keras::outline(Path::new(path)).ok()
}

/// The model of a specification alone.
pub fn find(specification: &str) -> Result<Model, SpecificationError> {
    Ok(open(specification, None)?.model)
}

/// Whether a specification is the path of a file rather than a name.
pub fn is_file(specification: &str) -> bool {
    file(specification).is_some()
}

/// A specification as it is written into a document at `path`: what is a file by its way from the document's folder, so
/// that both can be moved together and be used from anywhere.
pub fn relative_to(specification: &str, document: &Path) -> String {
    let Some((path, _)) = file(specification) else { return specification.to_string() };
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let folder = document.parent().and_then(|folder| absolute(&Path::new(".").join(folder)));
    let (Some(model), Some(folder)) = (absolute(Path::new(path)), folder) else {
        return specification.to_string();
    };
    // A pipe has no folder to come back to.
    let is_piped = document == Path::new("-") || document.exists() && !document.is_file();
    let way = if is_piped { model } else { way(&folder, &model) };
    match way.to_str() {
        Some(way) => format!("{way}{}", &specification[path.len()..]),
        None => specification.to_string(),
    }
}

/// A specification that a document at `path` names: a file by its way from the document's folder, or where there is
/// none, from here.
pub fn beside(specification: &str, document: &Path) -> String {
    let Some((path, _)) = file(specification) else { return specification.to_string() };
    let there = document.parent().map(|folder| folder.join(path)).filter(|there| there.exists());
    match there.as_deref().and_then(Path::to_str) {
        Some(there) => format!("{there}{}", &specification[path.len()..]),
        None => specification.to_string(),
    }
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
    #[error("{path} is a folder{}", if *.saved { ": a SavedModel of TensorFlow, which has a graph of ops but no layers" } else { ", not a model" })]
    Folder { path: String, saved: bool },
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

/// The way from a folder to a file, both absolute. Up to four levels up; what is farther apart is named from the root.
fn way(folder: &Path, file: &Path) -> PathBuf {
    let plain = |path: &Path| !path.components().any(|part| part == Component::ParentDir);
    let shared = folder.components().zip(file.components()).take_while(|(here, there)| here == there).count();
    let up = folder.components().count() - shared;
    match plain(folder) && plain(file) && shared > 1 && up <= 4 {
        true => std::iter::repeat_n(Component::ParentDir, up).chain(file.components().skip(shared)).collect(),
        false => file.to_path_buf(),
    }
}

/// Where a specification leaves out the size and a data set has one, the data's size (and channels) is taken: with
/// digits, `cnn` means `cnn@8,channels=1`. The same goes for the number of classes.
fn sized(specification: &str, data: Option<&Outline>) -> String {
    let end = specification.find(['@', ',']).unwrap_or(specification.len());
    let (name, rest) = specification.split_at(end);
    let entry = zoo::entries().iter().find(|entry| entry.name == name);
    let (Some(entry), Some(Outline { shape, classes })) = (entry, data) else {
        return specification.to_string();
    };
    let has = |setting: &str| rest.contains(&format!("{setting}="));
    let knows = |setting: &str| entry.options.iter().any(|option| option.name == setting);
    let mut written = specification.to_string();
    if let Some(shape) = shape.as_ref().filter(|shape| !rest.starts_with('@') && shape.rank() > 0) {
        written = match entry.unit {
            "features" => format!("{name}@{}{rest}", shape.elements()),
            "pixels" => format!("{name}@{}{rest}", shape[0]),
            _ => written,
        };
        if entry.unit == "pixels" && !has("channels") && knows("channels") {
            let channels = if shape.rank() == 2 { 1 } else { shape.last() };
            written += &format!(",channels={channels}");
        }
    }
    match classes.filter(|_| !has("classes") && knows("classes")) {
        Some(classes) => format!("{written},classes={classes}"),
        None => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use plimsoll_graph::Shape;

    #[test]
    fn files_are_told_by_their_ends() {
        assert_eq!(file("a/b.keras"), Some(("a/b.keras", None)));
        assert_eq!(file("b.h5@224"), Some(("b.h5", Some(224))));
        assert_eq!(file("me@home/b.json"), Some(("me@home/b.json", None)));
        assert_eq!(file("resnet50@224"), None);
    }

    #[test]
    fn documents_name_files_by_the_way_to_them() {
        let here = std::env::current_dir().unwrap();
        let way = |model: &str, document: &str| relative_to(model, Path::new(document));
        assert_eq!(way("cnn@8", "plans/a.json"), "cnn@8");
        assert_eq!(way("models/m.keras@224", "a.json"), "models/m.keras@224");
        assert_eq!(way("models/m.keras", "plans/a.json"), "../models/m.keras");
        assert_eq!(way("m.h5", "../../../../../../a.json"), here.join("m.h5").to_str().unwrap());
        assert_eq!(way("m.h5", "/dev/null"), here.join("m.h5").to_str().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let document = folder.path().join("a.json");
        std::fs::write(folder.path().join("m.keras"), "").unwrap();
        let there = folder.path().join("m.keras@8");
        assert_eq!(beside("m.keras@8", &document), there.to_str().unwrap());
        assert_eq!(beside("other.keras", &document), "other.keras");
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
            assert_eq!(sized(written, data::outline("digits").as_ref()), meant);
            assert_eq!(sized(written, None), written);
        }
        let photos = Outline { shape: None, classes: Some(3) };
        assert_eq!(sized("cnn@64", Some(&photos)), "cnn@64,classes=3");
        assert_eq!(sized("cnn@64,classes=5", Some(&photos)), "cnn@64,classes=5");
        let grey = Outline { shape: Some(Shape::new([28, 28])), classes: None };
        assert_eq!(sized("cnn", Some(&grey)), "cnn@28,channels=1");
    }
}
