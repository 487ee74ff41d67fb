//! What a script says about data: what one sample is, random ones in place of the reader's, and batches of them.

use super::{ScriptError, quoting, tuple};
use crate::recipe::RecipeFile;
use plimsoll_graph::{ElementType, Shape};
use plimsoll_model::{Mode, Model};
use plimsoll_train::Loss;

/// What samples look like on both sides of a model.
pub(super) struct Sample {
    inputs: Vec<Field>,
    targets: Vec<Field>,
}

/// One input, or the target of one output.
struct Field {
    name: String,
    shape: Shape,
    is_whole: bool,
    /// What makes one at random.
    random: String,
}

impl Sample {
    /// Those of a model and a loss.
    pub(super) fn of(file: &RecipeFile, model: &Model) -> Result<Self, ScriptError> {
        let graph = model.lower(1, Mode::Training).map_err(|error| ScriptError::Model(error.to_string()))?;
        let loss = file.recipe.setup.loss;
        let inputs = model.inputs.iter().map(|input| {
            let is_whole = input.element == ElementType::I32;
            let shape = tuple(input.shape.extents());
            let random = match is_whole {
                true => format!("random.integers({}, size={shape}, dtype=\"int32\")", vocabulary(model)),
                false => format!("random.standard_normal({shape}, dtype=\"float32\")"),
            };
            Field { name: input.name.clone(), shape: input.shape.clone(), is_whole, random }
        });
        let predictions = graph.outputs().iter().map(|&output| graph.tensor(output));
        let targets = model.outputs.iter().zip(predictions).map(|(output, predictions)| {
            let wrong = |error: plimsoll_train::TrainError| ScriptError::Model(error.to_string());
            let target = loss.targets(predictions).map_err(wrong)?;
            let shape = Shape::new(&target.shape.extents()[1..]);
            let (is_whole, classes) = (target.element == ElementType::I32, predictions.shape.last());
            let random = random_target(loss, &shape, is_whole, classes);
            Ok(Field { name: output.name.clone(), shape, is_whole, random })
        });
        Ok(Self { inputs: inputs.collect(), targets: targets.collect::<Result<_, ScriptError>>()? })
    }

    /// Whether a model has several outputs.
    pub(super) fn has_several_targets(&self) -> bool {
        self.targets.len() > 1
    }

    /// The number of outputs.
    pub(super) fn targets(&self) -> usize {
        self.targets.len()
    }

    /// Whether each target is one number or one row, so that what metrics hold is nothing beside a step.
    pub(super) fn has_small_targets(&self) -> bool {
        self.targets.iter().all(|target| target.shape.rank() <= 1)
    }

    /// The function that a reader replaces.
    pub(super) fn code(&self) -> String {
        let bytes = |fields: &[Field]| fields.iter().map(|field| field.shape.elements() * 4).sum::<usize>();
        format!(
            "def samples(part):\n    \"\"\"Pairs of inputs and targets, one sample each, without end. These are random: put your data here.\n\n    \
             `part` is \"training\" or \"validation\". A sample has {} bytes of inputs and {} of targets.\n    \"\"\"\n    \
             random = np.random.default_rng(0 if part == \"training\" else 1)\n    while True:\n        \
             inputs = {}\n        targets = {}\n        yield inputs, targets",
            bytes(&self.inputs),
            bytes(&self.targets),
            each(&self.inputs, 8, |field| field.random.clone()),
            each(&self.targets, 8, |field| field.random.clone()),
        )
    }

    /// Batches of samples, one waiting while a model is trained.
    pub(super) fn batches(&self, rows: usize) -> String {
        let spec = |field: &Field| {
            let kind = if field.is_whole { "int32" } else { "float32" };
            format!("tf.TensorSpec({}, tf.{kind})", tuple(field.shape.extents()))
        };
        let (model, arranged) = match self.has_several_targets() {
            true => ("model, ", self.arranged()),
            false => ("", String::new()),
        };
        format!(
            "\ndef batches({model}part):\n    inputs = {}\n    targets = {}\n    \
             # One sample at a time: the data set is never in memory as a whole.\n    \
             dataset = tf.data.Dataset.from_generator(lambda: samples(part), output_signature=(inputs, targets))\n    \
             dataset = dataset.batch({rows}, drop_remainder=True)  # a smaller last batch would leave holes of other sizes\n{arranged}    \
             # One batch waits while the model is trained, none while it is tested; AUTOTUNE may keep many.\n    \
             return dataset.prefetch(1) if part == \"training\" else dataset",
            each(&self.inputs, 4, spec),
            each(&self.targets, 4, spec),
        )
    }

    /// Keras takes inputs by their names whatever a model was made with; targets stand as outputs do.
    fn arranged(&self) -> String {
        let names: Vec<String> = self.targets.iter().map(|target| quoting::literal(&target.name)).collect();
        format!(
            "    if not isinstance(model.output, dict):  # a list of outputs takes its targets in the same order\n        \
             dataset = dataset.map(lambda x, y: (x, tuple(y[name] for name in [{}])))\n",
            names.join(", ")
        )
    }
}

/// One field as it is, several by their names.
fn each(fields: &[Field], indent: usize, code: impl Fn(&Field) -> String) -> String {
    if let [one] = fields {
        return code(one);
    }
    let indent = " ".repeat(indent);
    let line = |field: &Field| format!("{indent}    {}: {},\n", quoting::literal(&field.name), code(field));
    format!("{{\n{}{indent}}}", fields.iter().map(line).collect::<String>())
}

fn random_target(loss: Loss, shape: &Shape, is_whole: bool, classes: usize) -> String {
    let extents = shape.extents();
    match loss {
        _ if is_whole => format!("random.integers({classes}, size={}, dtype=\"int32\")", tuple(extents)),
        // Each target is a distribution: its parts add up to 1.
        Loss::CategoricalCrossEntropy { .. } => {
            let rows = tuple(&extents[..extents.len().saturating_sub(1)]);
            format!("random.dirichlet(np.ones({classes}), size={rows}).astype(\"float32\")")
        }
        _ => format!("random.random({}, dtype=\"float32\")", tuple(extents)),
    }
}

/// How many token ids there are: those of the smallest embedding.
fn vocabulary(model: &Model) -> usize {
    let tables = model.nodes.iter().filter_map(|node| match &node.layer {
        plimsoll_model::Layer::Embedding(embedding) => Some(embedding.input_dim),
        _ => None,
    });
    tables.min().unwrap_or(2)
}
