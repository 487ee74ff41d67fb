//! The part of a script that computes parts of a model again.

use super::{ScriptError, quoting};
use crate::recipe::RecipeFile;
use crate::recompute;
use plimsoll_model::{Mode, Model};

/// The layers at which the model is cut; none where nothing is computed again.
pub(super) fn borders(file: &RecipeFile, model: &Model) -> Result<Vec<String>, ScriptError> {
    let count = file.recipe.setup.recompute;
    if count == 0 {
        return Ok(Vec::new());
    }
    let graph = model.lower(1, Mode::Training).map_err(|error| ScriptError::Model(error.to_string()))?;
    Ok(recompute::borders(&graph, count))
}

/// The function that makes a model of parts.
pub(super) fn code(borders: &[String]) -> String {
    if borders.is_empty() {
        return String::new();
    }
    let names: Vec<String> = borders.iter().map(|name| quoting::literal(name)).collect();
    format!(
        "\nclass Recomputed(keras.layers.Layer):\n    \
         \"\"\"A part of a model that keeps what it reads and nothing else, and is computed again for its gradient.\"\"\"\n\n    \
         def __init__(self, part):\n        super().__init__()\n        self.part, self.again = part, keras.remat(part)\n\n    \
         def call(self, x):\n        return self.again(x)\n\n\n\
         def in_parts(model):\n    \
         \"\"\"The same layers, in parts that end with these. Nothing in them may be random or remember: it would be done twice.\"\"\"\n    \
         begin = x = model.input\n    for name in [{}]:\n        end = model.get_layer(name).output\n        \
         x, begin = Recomputed(keras.Model(begin, end))(x), end\n    \
         return keras.Model(model.input, keras.Model(begin, model.output)(x))",
        names.join(", ")
    )
}
