//! Writing a model with other weights, so that Keras opens it.

use super::document::Kind;
use super::{Keras, KerasError, Weight};
use hdf5_pure::{AttrValue, FileBuilder, GroupBuilder};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// What stands in `metadata.json` of a model that had none: the version whose layout the weights have.
const METADATA: &str = r#"{"keras_version": "3.15.1", "date_saved": ""}"#;

pub(super) fn write(
    keras: &Keras,
    path: &Path,
    mut read: impl FnMut(&Weight) -> Result<Vec<f32>, KerasError>,
) -> Result<(), KerasError> {
    if keras.document.kind == Kind::Legacy {
        return Err(KerasError::Write("legacy .h5 files are read, but not written".to_string()));
    }
    let mut root = Group::default();
    for weight in &keras.weights {
        let contents = read(weight)?;
        root.insert(&weight.path, Contents { shape: weight.shape.clone(), elements: contents });
    }
    write_archive(keras, path, root)
}

fn write_archive(keras: &Keras, path: &Path, root: Group) -> Result<(), KerasError> {
    let failed = |error: &dyn std::fmt::Display| KerasError::Write(error.to_string());
    let mut zip = ZipWriter::new(BufWriter::new(File::create(path)?));
    // Keras maps the weights where they lie, so they are not packed.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let metadata = keras.document.metadata.as_deref().unwrap_or(METADATA.as_bytes());
    for (name, contents) in [("metadata.json", metadata), ("config.json", &keras.document.text)] {
        zip.start_file(name, options).map_err(|error| failed(&error))?;
        zip.write_all(contents)?;
    }
    zip.start_file("model.weights.h5", options).map_err(|error| failed(&error))?;
    root.to_file().finish_to(&mut zip).map_err(|error| failed(&error))?;
    zip.finish().map_err(|error| failed(&error))?.flush()?;
    Ok(())
}

/// A group of an HDF5 file.
#[derive(Default)]
struct Group {
    groups: BTreeMap<String, Group>,
    datasets: BTreeMap<String, Contents>,
    attributes: Vec<(String, AttrValue)>,
}

struct Contents {
    shape: Vec<usize>,
    elements: Vec<f32>,
}

impl Group {
    fn insert(&mut self, path: &str, contents: Contents) {
        match path.split_once('/') {
            Some((group, rest)) => self.groups.entry(group.to_string()).or_default().insert(rest, contents),
            None => drop(self.datasets.insert(path.to_string(), contents)),
        }
    }

    fn to_file(&self) -> FileBuilder {
        let mut file = FileBuilder::new();
        for (name, group) in &self.groups {
            let builder = file.create_group(name);
            file.add_group(group.fill(builder).finish());
        }
        file
    }

    fn fill(&self, mut builder: GroupBuilder) -> GroupBuilder {
        for (name, contents) in &self.datasets {
            let shape: Vec<u64> = contents.shape.iter().map(|&extent| extent as u64).collect();
            builder.create_dataset(name).with_f32_data(&contents.elements).with_shape(&shape);
        }
        for (name, value) in &self.attributes {
            builder.set_attr(name, value.clone());
        }
        for (name, group) in &self.groups {
            let inner = builder.create_group(name);
            builder.add_group(group.fill(inner).finish());
        }
        builder
    }
}
