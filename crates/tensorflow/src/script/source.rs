//! Where a script's model comes from: a file, an application of Keras, or its layers.

use super::{ScriptError, layers, quoting, tuple};
use crate::recipe::RecipeFile;
use plimsoll_graph::ElementType;
use plimsoll_model::{Model, NodeRef};

/// Models of the zoo that Keras has under another name.
const APPLICATIONS: [(&str, &str); 5] = [
    ("densenet121", "DenseNet121"),
    ("efficientnet_b0", "EfficientNetB0"),
    ("mobilenet_v2", "MobileNetV2"),
    ("resnet50", "ResNet50"),
    ("vgg16", "VGG16"),
];

/// The lines that make `model`, in which the named layers have their names.
pub(super) fn model(file: &RecipeFile, model: &Model, named: &[String]) -> Result<String, ScriptError> {
    let path = without_size(&file.model);
    let place = format!("os.path.join(HERE, {})", quoting::literal(path));
    if [".keras", ".h5", ".hdf5"].iter().any(|end| path.ends_with(end)) {
        let compile = if file.as_compiled { "" } else { ", compile=False" };
        return Ok(format!("model = keras.models.load_model({place}{compile})"));
    }
    if path.ends_with(".json") {
        return Ok(format!(
            "with open({place}, encoding=\"utf-8\") as text:\n    model = keras.models.model_from_json(text.read())"
        ));
    }
    let application = APPLICATIONS.iter().find(|(name, _)| *name == model.name);
    match application.filter(|_| is_plain(&file.model) && named.is_empty()) {
        Some((_, class)) => Ok(application_of(class, model)),
        None => built(model, named),
    }
}

/// A path without the size that may stand behind it; folders may have an `@`, too.
fn without_size(specification: &str) -> &str {
    match specification.rsplit_once('@') {
        Some((path, size)) if size.parse::<usize>().is_ok() => path,
        _ => specification,
    }
}

/// Options beside the classes are not Keras's.
fn is_plain(specification: &str) -> bool {
    let options = specification.split(',').skip(1);
    options
        .into_iter()
        .all(|option| ["classes=", "channels="].iter().any(|known| option.trim().starts_with(known)))
}

fn application_of(class: &str, model: &Model) -> String {
    let shape = tuple(model.inputs[0].shape.extents());
    let classes = model.nodes.iter().rev().find_map(|node| match &node.layer {
        plimsoll_model::Layer::Dense(dense) => Some(dense.units),
        _ => None,
    });
    format!(
        "model = keras.applications.{class}(weights=None, input_shape={shape}, classes={})",
        classes.unwrap_or(1000)
    )
}

/// The model layer by layer.
fn built(model: &Model, named: &[String]) -> Result<String, ScriptError> {
    let input = &model.inputs[0];
    let kind = if input.element == ElementType::I32 { "int32" } else { "float32" };
    let mut lines = vec![
        "L = keras.layers".to_string(),
        format!("inputs = keras.Input({}, dtype=\"{kind}\")", tuple(input.shape.extents())),
    ];
    let images = input.shape.rank() == 3;
    let mut names = Names::new(model);
    for (position, node) in model.nodes.iter().enumerate() {
        let code = layers::code(&node.layer, images)
            .ok_or_else(|| ScriptError::Layer { name: node.name.clone(), kind: node.layer.kind() })?;
        let code = if named.contains(&node.name) { with_name(&code, &node.name) } else { code };
        let operands: Vec<String> = node.inputs.iter().map(|&input| names.of(input)).collect();
        let operands = match layers::takes_a_list(&node.layer) {
            true => format!("[{}]", operands.join(", ")),
            false => operands.join(", "),
        };
        lines.push(format!("{} = L.{code}({operands})", names.give(position)));
    }
    lines.push(format!("model = keras.Model(inputs, {})", names.of(model.outputs[0].from)));
    Ok(lines.join("\n"))
}

/// The call of a constructor that also says what the layer is called.
fn with_name(call: &str, name: &str) -> String {
    let arguments = call.strip_suffix(')').unwrap_or(call);
    let comma = if arguments.ends_with('(') { "" } else { ", " };
    format!("{arguments}{comma}name={})", quoting::literal(name))
}

/// The variables of the script: `x` along a chain, `x7` for what is read later.
struct Names {
    names: Vec<String>,
    /// For each node, who reads it last.
    last_reader: Vec<usize>,
    readers: Vec<usize>,
}

impl Names {
    fn new(model: &Model) -> Self {
        let mut last_reader = vec![usize::MAX; model.nodes.len()];
        let mut readers = vec![0; model.nodes.len()];
        for (position, node) in model.nodes.iter().enumerate() {
            for input in &node.inputs {
                if let NodeRef::Node(read) = *input {
                    last_reader[read] = position;
                    readers[read] += 1;
                }
            }
        }
        Self { names: Vec::new(), last_reader, readers }
    }

    /// Only what the next layer reads, and nobody else, needs no name of its own.
    fn give(&mut self, position: usize) -> String {
        let passes_on = self.readers[position] <= 1 && self.last_reader[position] == position + 1;
        let is_last = self.readers[position] == 0;
        let name = if passes_on || is_last { "x".to_string() } else { format!("x{position}") };
        self.names.push(name.clone());
        name
    }

    fn of(&self, reference: NodeRef) -> String {
        match reference {
            NodeRef::Input(_) => "inputs".to_string(),
            NodeRef::Node(position) => self.names[position].clone(),
        }
    }
}
