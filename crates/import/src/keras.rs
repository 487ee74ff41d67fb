//! Models that Keras has saved: `.keras` archives, `model.to_json()`, and legacy `.h5` files.
//!
//! In: a file. Out: a `Model` of the same layers under the same names, which weights of the file are which of its
//! parameters, and how it was compiled. Invariant: what changes the computation and is not known here is an error that
//! names it; what is computed otherwise than the file says is listed in [`Keras::notes`]. Memory is bounded by the file
//! and the model, whatever the file declares.
//!
//! ```
//! use plimsoll_import::keras;
//! use plimsoll_model::Mode;
//!
//! let json = r#"{"class_name": "Sequential", "config": {"name": "small", "layers": [
//!     {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "pixels"}},
//!     {"class_name": "Dense", "config": {"name": "hidden", "units": 3, "activation": "relu"}}]}}"#;
//! let keras = keras::from_bytes(json.as_bytes().to_vec(), None)?;
//! let graph = keras.model.lower(8, Mode::Inference)?;
//! assert_eq!(graph.tensor(graph.outputs()[0]).to_string(), "f32[8,3]");
//! assert_eq!(keras.weights[0].name, "hidden/kernel");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "hdf5")]
mod archive;
mod assembly;
mod call;
mod compiled;
mod config;
mod configuration;
mod constraints;
#[cfg(feature = "hdf5")]
mod document;
mod error;
mod fields;
#[cfg(feature = "hdf5")]
mod float;
mod functional;
mod initializers;
mod input;
mod layers;
mod masks;
mod naming;
mod operations;
mod outline;
mod policy;
mod regularizers;
mod saved_optimizer;
mod sequential;
#[cfg(feature = "hdf5")]
mod store;
mod weight_fields;
mod weights;
#[cfg(not(feature = "hdf5"))]
mod without_hdf5;
#[cfg(feature = "hdf5")]
mod write;

pub use compiled::{Compiled, ForOutputs, Setting};
pub use error::KerasError;
pub use outline::{Outline, OutlineLayer};
pub use saved_optimizer::OptimizerVariable;
pub use weights::Weight;

#[cfg(not(feature = "hdf5"))]
use without_hdf5::{document, store, write};

use assembly::{Assembly, Scope};
use config::Object;
use document::{Document, Kind};
use plimsoll_graph::op::Constraint;
use plimsoll_graph::{ElementType, Role, Shape, TensorType};
use plimsoll_model::{Mode, Model};
use plimsoll_state::{Contents, State, Tensor};
use serde_json::Value;
use std::cell::RefCell;
use std::io;
use std::path::Path;

/// Reads a file. Extents that it leaves open, such as the size of images, are `size`.
pub fn read(path: &Path, size: Option<usize>) -> Result<Keras, KerasError> {
    Keras::new(Document::open(path)?, size)
}

/// The same from memory.
pub fn from_bytes(bytes: Vec<u8>, size: Option<usize>) -> Result<Keras, KerasError> {
    Keras::new(Document::from_bytes(bytes)?, size)
}

/// The layers of a file with their parameters, also where some of them cannot be computed here.
pub fn outline(path: &Path) -> Result<Outline, KerasError> {
    outline::read(path)
}

/// A model that Keras has saved.
pub struct Keras {
    /// The model.
    pub model: Model,
    /// Its weights, in the order of its graph.
    pub weights: Vec<Weight>,
    /// How it was compiled, as far as the file says.
    pub compiled: Compiled,
    /// What must hold of weights after each update, by their names.
    pub constraints: Vec<(String, Constraint)>,
    /// What the file says and is done otherwise here, in sentences.
    pub notes: Vec<String>,
    document: Document,
    /// Where each weight stands in this file.
    paths: Vec<String>,
    /// The counts of samples that normalizations own and nothing reads.
    counts: Vec<Weight>,
}

impl Keras {
    fn new(document: Document, size: Option<usize>) -> Result<Self, KerasError> {
        let notes = RefCell::default();
        let (mut model, places) = assemble(&document.config, size, &notes)?;
        let graph = model.lower(1, Mode::Inference)?;
        let (weights, counts) = weights::list(&model, &graph, &places);
        let constraints = constraints::list(&document.config, &weights)?;
        model.penalties.extend(regularizers::list(&document.config, &weights)?);
        let paths = match (&document.store, document.kind) {
            (Some(store), Kind::Legacy) => weights::legacy_paths(&weights, store, "model_weights/")?,
            _ => weights.iter().map(|weight| weight.path.clone()).collect(),
        };
        let training = document.training.as_ref().or(document.config.get("compile_config"));
        let compiled = training.map(compiled::read).unwrap_or_default();
        Ok(Self { model, weights, compiled, constraints, notes: notes.into_inner(), document, paths, counts })
    }

    /// The name and the dtype policy of every layer that says one, such as `mixed_float16`.
    pub fn policies(&self) -> Vec<(String, String)> {
        policy::policies(&self.document.config)
    }

    /// Whether the file has weights.
    pub fn has_weights(&self) -> bool {
        self.document.store.is_some()
    }

    /// The weights as a state to which no update was applied.
    pub fn state(&self) -> State {
        let tensor = |weight: &Weight, element| Tensor {
            name: weight.name.clone(),
            tensor: TensorType::new(element, Shape::new(&weight.shape[..])),
            role: if weight.learned { Role::Parameter } else { Role::Statistic },
        };
        let floats = self.weights.iter().map(|weight| tensor(weight, ElementType::F32));
        let counts = self.counts.iter().map(|count| tensor(count, ElementType::I32));
        State { model: self.model.name.clone(), tensors: floats.chain(counts).collect(), ..State::default() }
    }

    /// Reads one of the [`weights`](Self::weights) by its position.
    pub fn read_weight(&self, position: usize, into: &mut [f32]) -> Result<(), KerasError> {
        let (weight, path) = (&self.weights[position], &self.paths[position]);
        if into.len() != weight.shape.iter().product::<usize>() {
            return Err(KerasError::weights(path, format!("they do not fit {} elements", into.len())));
        }
        self.read_part(position, 0, into)
    }

    /// Reads elements of a weight, from the one of that number on.
    fn read_part(&self, position: usize, start: usize, into: &mut [f32]) -> Result<(), KerasError> {
        let (weight, path) = (&self.weights[position], &self.paths[position]);
        let missing = || KerasError::weights(path, "the file has no weights");
        self.document.store.as_ref().ok_or_else(missing)?.read(path, &weight.shape, start, into)
    }

    /// Whether every weight of the model is in the file, without reading them. A configuration alone has none to miss.
    pub fn check_weights(&self) -> Result<(), KerasError> {
        let Some(store) = &self.document.store else {
            let missing = self.document.kind == Kind::Archive && !self.paths.is_empty();
            let lost = || KerasError::Archive("it has no model.weights.h5".to_string());
            return if missing { Err(lost()) } else { Ok(()) };
        };
        match self.paths.iter().find(|path| !store.has(path)) {
            None => Ok(()),
            Some(path) => Err(KerasError::weights(path, "they are not in the file")),
        }
    }

    /// Whether the model could be written to a path: by its ending, and as things are on the disk.
    pub fn check_write(&self, path: &Path) -> Result<(), KerasError> {
        write::check(self, path)
    }

    /// Writes the model with other weights, whole or not at all: a file that `keras.models.load_model` opens. The state
    /// has each weight by its name in the graph, and what the variables of the optimizer name; what else it has is left
    /// out. Variables are listed by the place they go to, such as `optimizer/vars`.
    pub fn write(
        &self,
        path: &Path,
        state: &State,
        contents: &dyn Contents,
        optimizer: &[(&str, Vec<OptimizerVariable>)],
    ) -> Result<(), KerasError> {
        write::write(self, path, state, contents, optimizer)
    }
}

/// What is in the tensors of [`Keras::state`], in pieces that begin and end with whole elements.
impl Contents for Keras {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let uneven = !offset.is_multiple_of(4) || !into.len().is_multiple_of(4);
        let start =
            usize::try_from(offset / 4).ok().filter(|_| !uneven).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(count) = tensor.checked_sub(self.weights.len()) {
            let count = self.counts.get(count).ok_or(io::ErrorKind::NotFound)?;
            let bytes = write::count(self, &count.path).to_le_bytes();
            into.copy_from_slice(
                bytes.get(start * 4..start * 4 + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?,
            );
            return Ok(());
        }
        let mut floats = vec![0f32; into.len() / 4];
        self.read_part(tensor, start, &mut floats).map_err(io::Error::other)?;
        into.chunks_exact_mut(4).zip(floats).for_each(|(into, x)| into.copy_from_slice(&x.to_le_bytes()));
        Ok(())
    }
}

fn assemble(
    config: &Value,
    size: Option<usize>,
    notes: &RefCell<Vec<String>>,
) -> Result<(Model, Vec<assembly::Place>), KerasError> {
    let foreign = |_| KerasError::Foreign("it has no class_name and config".to_string());
    let object = Object::read(config).map_err(foreign)?;
    let name = object.config.get("name").and_then(Value::as_str).unwrap_or("model");
    if !object.is_model() {
        return Err(not_a_graph(&object, name));
    }
    let mut assembly = Assembly::new(name, size, notes);
    let frozen = object.config.get("trainable") == Some(&Value::Bool(false));
    let outputs = assembly.add_model(&object, &Scope::outermost(!frozen), None)?;
    let names = match object.class {
        "Sequential" => sequential::output_names(&object)?,
        _ => functional::output_names(&object)?,
    };
    Ok(assembly.finish(names.into_iter().zip(outputs).collect()))
}

/// A model that is a class of its own says nothing about what it computes; anything else is no model.
fn not_a_graph(object: &Object<'_>, name: &str) -> KerasError {
    if object.module.is_empty() || object.module.starts_with("keras") {
        let what = format!("{} is neither a functional nor a sequential model", object.class);
        return KerasError::Foreign(what);
    }
    let hint = "save what it computes: inputs = keras.Input(...); \
                keras.Model(inputs, model(inputs)) with its layers called one by one, or a Sequential";
    KerasError::Layer {
        path: name.to_string(),
        class: object.class.to_string(),
        problem:
            "it is a subclassed model: the file has its weights, but what it computes stands in Python code"
                .to_string(),
        hint: Some(hint.to_string()),
    }
}
