//! Writing a model with other weights, so that Keras opens it.
//!
//! The configuration stays as it was read, byte for byte. What the optimizer remembers is written as Keras would have;
//! where the caller gives none, Keras starts it afresh.

use super::document::Kind;
use super::store::Store;
use super::weights::is_count;
use super::{Keras, KerasError, OptimizerVariable, Weight};
use crate::hdf5::{self, Attribute, Dataset, Group, Number};
use plimsoll_graph::ElementType;
use plimsoll_state::whole_file::{self, Sink};
use plimsoll_state::{Contents, State, each_chunk};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// What stands in `metadata.json` of a model that had none: the version whose layout the weights have.
const METADATA: &str = r#"{"keras_version": "3.15.1", "date_saved": ""}"#;
/// The groups and attributes of legacy files.
const LEGACY_WEIGHTS: &str = "model_weights";
const LEGACY_TEXTS: [&str; 4] = ["backend", "keras_version", "model_config", "training_config"];

/// Whether a model can be written under a name.
pub(super) fn check(keras: &Keras, path: &Path) -> Result<(), KerasError> {
    let end = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let legacy = matches!(end, "h5" | "hdf5");
    if !whole_file::is_plain(path).map_err(KerasError::Write)? {
        return Err(KerasError::Kind(
            "a Keras file can only be a plain file: its beginning is written last".to_string(),
        ));
    }
    // Counts are written as the file has them.
    keras.document.store.iter().try_for_each(Store::check_sum)?;
    match (keras.document.kind, legacy, end) {
        (Kind::Legacy, true, _) | (Kind::Archive | Kind::Json, _, "keras") => {
            whole_file::check(path).map_err(KerasError::Write)
        }
        (Kind::Legacy, ..) => {
            Err(KerasError::Kind("a model from a legacy .h5 file is saved as .h5".to_string()))
        }
        _ => Err(KerasError::Kind("a model from a .keras or .json file is saved as .keras".to_string())),
    }
}

pub(super) fn write(
    keras: &Keras,
    path: &Path,
    state: &State,
    contents: &dyn Contents,
    optimizer: &[(&str, Vec<OptimizerVariable>)],
) -> Result<(), KerasError> {
    check(keras, path)?;
    let legacy = keras.document.kind == Kind::Legacy;
    let mut sources = Sources { state, contents, others: Vec::new() };
    let mut root = Group::default();
    for (weight, legacy_path) in keras.weights.iter().zip(&keras.paths) {
        let place = if legacy { legacy_path } else { &weight.path };
        root.insert(place, sources.weight(weight)?);
    }
    for (place, variables) in optimizer {
        for (position, variable) in variables.iter().enumerate() {
            root.insert(&format!("{place}/{position}"), sources.variable(variable)?);
        }
    }
    match legacy {
        true => add_legacy_names(keras, &mut root, &mut sources)?,
        false => {
            keras.counts.iter().for_each(|found| root.insert(&found.path, sources.count(keras, &found.path)));
        }
    }
    let fill = |file: &mut Sink| match legacy {
        true => hdf5::write(&root, file, |source, file| sources.write(source, file)),
        false => fill_archive(keras, file, &root, &sources),
    };
    whole_file::write(path, fill).map_err(KerasError::Write)
}

fn fill_archive(keras: &Keras, file: &mut Sink, root: &Group, sources: &Sources<'_>) -> io::Result<()> {
    // An archive that cannot be written to its end is thrown away; dropped, it would try to end itself and complain.
    let mut zip = ManuallyDrop::new(ZipWriter::new(file));
    // Keras maps the weights where they lie, so they are not packed.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let metadata = keras.document.metadata.as_deref().unwrap_or(METADATA.as_bytes());
    for (name, contents) in [("metadata.json", metadata), ("config.json", &keras.document.text)] {
        zip.start_file(name, options)?;
        zip.write_all(contents)?;
    }
    zip.start_file("model.weights.h5", options)?;
    hdf5::write(root, &mut *zip, |source, file| sources.write(source, file))?;
    ManuallyDrop::into_inner(zip).finish()?;
    Ok(())
}

/// Where the contents of datasets come from: the tensors of a state, then others.
struct Sources<'a> {
    state: &'a State,
    contents: &'a dyn Contents,
    others: Vec<Other>,
}

/// Contents that are no tensor of a state.
enum Other {
    /// A few bytes.
    Bytes(Vec<u8>),
    /// The same element so many times.
    Filled(f32, usize),
}

impl Sources<'_> {
    /// The dataset of a weight.
    fn weight(&self, weight: &Weight) -> Result<Dataset, KerasError> {
        let tensors = &self.state.tensors;
        let missing = || KerasError::weights(&weight.path, "training does not use them");
        let source = tensors.iter().position(|tensor| tensor.name == weight.name).ok_or_else(missing)?;
        let (shape, found) = (weight.shape.clone(), &tensors[source].tensor);
        match found.element == ElementType::F32 && found.shape.extents() == shape {
            true => Ok(Dataset { number: Number::F32, shape, source }),
            false => {
                Err(KerasError::weights(&weight.path, format!("they are {found}, the model has {shape:?}")))
            }
        }
    }

    /// The dataset of a count, with what the file has.
    fn count(&mut self, keras: &Keras, path: &str) -> Dataset {
        let bytes = count(keras, path).to_le_bytes().to_vec();
        self.other(Number::I32, Vec::new(), Other::Bytes(bytes))
    }

    /// The dataset of a variable of the optimizer.
    fn variable(&mut self, variable: &OptimizerVariable) -> Result<Dataset, KerasError> {
        let one = |bytes: &[u8]| Other::Bytes(bytes.to_vec());
        Ok(match variable {
            OptimizerVariable::Count(count) => self.other(Number::I64, vec![], one(&count.to_le_bytes())),
            OptimizerVariable::Number(number) => self.other(Number::F32, vec![], one(&number.to_le_bytes())),
            OptimizerVariable::Nothing => self.other(Number::I32, vec![], one(&[0; 4])),
            OptimizerVariable::Filled(shape, element) => {
                let count = shape.iter().product();
                self.other(Number::F32, shape.clone(), Other::Filled(*element, count))
            }
            OptimizerVariable::Tensor(name) => {
                let missing = || KerasError::weights(name, "training has no such tensor");
                let tensors = &self.state.tensors;
                let source = tensors.iter().position(|tensor| tensor.name == *name).ok_or_else(missing)?;
                let shape = tensors[source].tensor.shape.extents().to_vec();
                Dataset { number: Number::F32, shape, source }
            }
        })
    }

    fn other(&mut self, number: Number, shape: Vec<usize>, other: Other) -> Dataset {
        self.others.push(other);
        Dataset { number, shape, source: self.state.tensors.len() + self.others.len() - 1 }
    }

    fn write(&self, source: usize, file: &mut impl Write) -> io::Result<()> {
        match source.checked_sub(self.state.tensors.len()).map(|other| &self.others[other]) {
            Some(Other::Bytes(bytes)) => file.write_all(bytes),
            Some(&Other::Filled(element, count)) => {
                (0..count).try_for_each(|_| file.write_all(&element.to_le_bytes()))
            }
            None => each_chunk(self.state, self.contents, source, |_, bytes| file.write_all(bytes))
                .map_err(io::Error::other),
        }
    }
}

/// A count as the file has it, or 0.
pub(super) fn count(keras: &Keras, path: &str) -> i32 {
    keras.document.store.as_ref().and_then(|store| store.integer(path)).unwrap_or(0)
}

/// The lists of layers and weights by which Keras reads a legacy file, as they were.
fn add_legacy_names(keras: &Keras, root: &mut Group, sources: &mut Sources<'_>) -> Result<(), KerasError> {
    let Some(store) = &keras.document.store else { return Ok(()) };
    for name in LEGACY_TEXTS {
        let text = store.text("/", name);
        text.into_iter().for_each(|text| root.set(name, Attribute::Text(text)));
    }
    let layers = store.texts(LEGACY_WEIGHTS, "layer_names")?;
    for layer in &layers {
        let path = format!("{LEGACY_WEIGHTS}/{layer}");
        let names = store.texts(&path, "weight_names")?;
        for name in names.iter().filter(|name| is_count(name)) {
            let place = format!("{path}/{name}");
            root.insert(&place, sources.count(keras, &place));
        }
        root.group(&path).set("weight_names", Attribute::Texts(names));
    }
    let weights = root.group(LEGACY_WEIGHTS);
    for name in ["backend", "keras_version"] {
        let text = store.text(LEGACY_WEIGHTS, name);
        text.into_iter().for_each(|text| weights.set(name, Attribute::Text(text)));
    }
    weights.set("layer_names", Attribute::Texts(layers));
    Ok(())
}
