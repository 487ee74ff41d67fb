//! The inputs of a model: their shapes, with extents that the file may leave open.

use super::KerasError;
use super::fields::{Fields, as_count};
use plimsoll_graph::{ElementType, Shape};
use serde_json::{Value, json};

/// The most axes of a sample.
const MOST_AXES: usize = 8;

/// The shape of a sample and its element type.
pub(super) fn read(
    fields: &Fields<'_>,
    name: &str,
    size: Option<usize>,
) -> Result<(Shape, ElementType), KerasError> {
    fields.skip(&["name", "trainable"]);
    fields.only("sparse", &[json!(false)])?;
    fields.only("ragged", &[json!(false)])?;
    fields.only("optional", &[json!(false)])?;
    let shape = fields.get("batch_shape").or(fields.get("batch_input_shape"));
    let shape = shape.ok_or_else(|| fields.problem("it has no shape"))?;
    let element = match fields.text("dtype", "float32")? {
        "float32" => ElementType::F32,
        "int32" | "int64" | "int16" | "int8" | "uint8" | "uint16" | "uint32" => ElementType::I32,
        other => {
            let hint = "make numbers of texts before the model, and let its input be numbers";
            let problem = format!("inputs of dtype={other} are not supported");
            return Err(fields.problem_with_hint(problem, (other == "string").then_some(hint)));
        }
    };
    fields.finish()?;
    Ok((sample_shape(shape, name, size)?, element))
}

/// A shape without its batch; open extents have the given size.
pub(super) fn sample_shape(shape: &Value, name: &str, size: Option<usize>) -> Result<Shape, KerasError> {
    let broken = || KerasError::Config(format!("the shape {shape} of input `{name}` is not supported"));
    let axes =
        shape.as_array().filter(|axes| (1..=MOST_AXES + 1).contains(&axes.len())).ok_or_else(broken)?;
    let open = || KerasError::Size { input: name.to_string(), shape: shape.to_string() };
    let extent = |axis: &Value| match axis {
        Value::Null => size.ok_or_else(open),
        known => as_count(known).filter(|&extent| extent > 0).ok_or_else(broken),
    };
    let sample = Shape::new(axes[1..].iter().map(extent).collect::<Result<Vec<_>, _>>()?);
    if sample.is_reasonable() { Ok(sample) } else { Err(broken()) }
}
