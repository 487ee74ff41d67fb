//! Writing a model with other weights, so that Keras opens it.
//!
//! The configuration stays as it was read, byte for byte. What the optimizer remembered is left out: it belongs to other weights, and Keras then
//! starts it afresh.

use super::document::Kind;
use super::weights::is_count;
use super::{Keras, KerasError, Weight};
use crate::whole_file;
use hdf5_pure::AttrValue;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use tree::{Contents, Group};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

mod tree;

/// What stands in `metadata.json` of a model that had none: the version whose layout the weights have.
const METADATA: &str = r#"{"keras_version": "3.15.1", "date_saved": ""}"#;
/// The groups and attributes of legacy files.
const LEGACY_WEIGHTS: &str = "model_weights";
const LEGACY_TEXTS: [&str; 4] = ["backend", "keras_version", "model_config", "training_config"];

/// Whether a model can be written under a name.
pub(super) fn check(keras: &Keras, path: &Path) -> Result<(), KerasError> {
    let end = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let legacy = matches!(end, "h5" | "hdf5");
    match (keras.document.kind, legacy, end) {
        (Kind::Legacy, true, _) | (Kind::Archive | Kind::Json, _, "keras") => Ok(()),
        (Kind::Legacy, ..) => {
            Err(KerasError::Write("a model from a legacy .h5 file is saved as .h5".to_string()))
        }
        _ => Err(KerasError::Write("a model from a .keras or .json file is saved as .keras".to_string())),
    }
}

pub(super) fn write(
    keras: &Keras,
    path: &Path,
    mut read: impl FnMut(&Weight) -> Result<Vec<f32>, KerasError>,
) -> Result<(), KerasError> {
    check(keras, path)?;
    let mut root = Group::default();
    let legacy = keras.document.kind == Kind::Legacy;
    for (weight, legacy_path) in keras.weights.iter().zip(&keras.paths) {
        let place = if legacy { legacy_path } else { &weight.path };
        root.insert(place, Contents::Floats(weight.shape.clone(), read(weight)?));
    }
    match legacy {
        true => add_legacy_names(keras, &mut root)?,
        false => keras.counts.iter().for_each(|path| root.insert(path, count(keras, path))),
    }
    whole_file::write(path, |file| fill(keras, file, root, legacy))
}

fn fill(keras: &Keras, file: &mut BufWriter<File>, root: Group, legacy: bool) -> Result<(), KerasError> {
    let failed = |error: hdf5_pure::Error| KerasError::Write(error.to_string());
    if legacy {
        return root.to_file().finish_to(file).map(drop).map_err(failed);
    }
    let broken = |error: zip::result::ZipError| KerasError::Write(error.to_string());
    let mut zip = ZipWriter::new(file);
    // Keras maps the weights where they lie, so they are not packed.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let metadata = keras.document.metadata.as_deref().unwrap_or(METADATA.as_bytes());
    for (name, contents) in [("metadata.json", metadata), ("config.json", &keras.document.text)] {
        zip.start_file(name, options).map_err(broken)?;
        zip.write_all(contents)?;
    }
    zip.start_file("model.weights.h5", options).map_err(broken)?;
    root.to_file().finish_to(&mut zip).map_err(failed)?;
    zip.finish().map(drop).map_err(broken)
}

/// A count as the file has it, or 0.
fn count(keras: &Keras, path: &str) -> Contents {
    let known = keras.document.store.as_ref().and_then(|store| store.integer(path));
    Contents::Integer(known.unwrap_or(0))
}

/// The lists of layers and weights by which Keras reads a legacy file, as they were.
fn add_legacy_names(keras: &Keras, root: &mut Group) -> Result<(), KerasError> {
    let Some(store) = &keras.document.store else { return Ok(()) };
    for name in LEGACY_TEXTS {
        let text = store.text("/", name);
        text.into_iter().for_each(|text| root.set(name, AttrValue::VarLenString(text)));
    }
    let layers = store.texts(LEGACY_WEIGHTS, "layer_names")?;
    for layer in &layers {
        let path = format!("{LEGACY_WEIGHTS}/{layer}");
        let names = store.texts(&path, "weight_names")?;
        for name in names.iter().filter(|name| is_count(name)) {
            let place = format!("{path}/{name}");
            root.insert(&place, count(keras, &place));
        }
        root.group(&path).set("weight_names", AttrValue::VarLenStringArray(names));
    }
    let weights = root.group(LEGACY_WEIGHTS);
    for name in ["backend", "keras_version"] {
        let text = store.text(LEGACY_WEIGHTS, name);
        text.into_iter().for_each(|text| weights.set(name, AttrValue::VarLenString(text)));
    }
    weights.set("layer_names", AttrValue::VarLenStringArray(layers));
    Ok(())
}
