//! What a file says about its layers, whether or not all of them can be computed here.

use super::assembly::Assembly;
use super::call::Call;
use super::config::{LayerConfig, Object};
use super::document::{Document, Kind};
use super::fields::Fields;
use super::{KerasError, layers};
use std::cell::RefCell;
use std::path::Path;

/// The layers of a file, in its order; those of models inside it under the model's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// What the model is called.
    pub name: String,
    /// Its layers.
    pub layers: Vec<OutlineLayer>,
}

/// One layer of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineLayer {
    /// Its name, such as `inner/dense`.
    pub name: String,
    /// Keras's class.
    pub class: String,
    /// How many numbers the file has for it; nothing where the file does not say.
    pub parameters: Option<u64>,
    /// Why it cannot be computed here, if so.
    pub problem: Option<String>,
}

/// How deep models may stand in models.
const DEEPEST: usize = 8;

/// Reads the layers of a file.
pub(super) fn read(path: &Path) -> Result<Outline, KerasError> {
    let document = Document::open(path)?;
    let object = Object::read(&document.config)?;
    let name = object.config.get("name").and_then(|name| name.as_str()).unwrap_or("model").to_string();
    let mut found = Vec::new();
    collect(&document, &object, "", "", DEEPEST, &mut found)?;
    Ok(Outline { name, layers: found })
}

fn collect(
    document: &Document,
    model: &Object<'_>,
    name: &str,
    path: &str,
    depth: usize,
    found: &mut Vec<OutlineLayer>,
) -> Result<(), KerasError> {
    let Some(deeper) = depth.checked_sub(1) else { return Ok(()) };
    let layers = model.layers()?;
    for (layer, file_name) in layers.iter().zip(Assembly::file_names(&layers)) {
        let own_name = format!("{name}{}", layer.name);
        let own_path = format!("{path}layers/{file_name}");
        if layer.object.is_model() {
            collect(
                document,
                &layer.object,
                &format!("{own_name}/"),
                &format!("{own_path}/"),
                deeper,
                found,
            )?;
            continue;
        }
        let store =
            document.store.as_ref().filter(|_| document.kind == Kind::Archive && !file_name.is_empty());
        let parameters = store.map(|store| store.elements(&own_path));
        let problem = problem(layer, &own_name);
        found.push(OutlineLayer {
            name: own_name,
            class: layer.object.class.to_string(),
            parameters,
            problem,
        });
    }
    Ok(())
}

/// What stands in the way of a layer alone, as its first call uses it.
fn problem(layer: &LayerConfig<'_>, name: &str) -> Option<String> {
    if layer.object.class == "InputLayer" {
        return None;
    }
    let notes = RefCell::default();
    let fields = Fields::new(layer.object.config, name.to_string(), layer.object.class, &notes);
    let call = match layer.inbound.first().map(Call::read) {
        Some(Ok(call)) => call,
        Some(Err(error)) => return Some(error.to_string()),
        None => Call { arguments: Vec::new(), named: Vec::new(), raw: &[] },
    };
    let scaled = matches!(layers::scale_of_sum(&layer.object, &fields), Ok(Some(_)));
    let built = match layers::is_operation(&layer.object) {
        _ if scaled => Ok(()),
        true => layers::build_operation(&layer.object, &fields, &call).map(drop),
        false => layers::build(&layer.object, &fields, &call).map(drop),
    };
    match built.and_then(|()| fields.finish()) {
        Ok(()) => None,
        Err(KerasError::Layer { problem, .. }) => Some(problem),
        Err(other) => Some(other.to_string()),
    }
}
