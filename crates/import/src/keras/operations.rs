//! The operation layers that Keras 3 writes for arithmetic on tensors, such as `2 * x + y` or `x[:, 1:]`.

use super::KerasError;
use super::call::{Argument, Call};
use super::config::Object;
use super::fields::{Fields, as_count};
use plimsoll_graph::ElementType;
use plimsoll_model::Layer;
use plimsoll_model::layer::{Activation, Function, Index, Operand, Operation};
use serde_json::{Value, json};

/// The most elements of a constant in a configuration.
const LARGEST_CONSTANT: usize = 1 << 16;

/// Ops by their classes, with those that only make masks.
const NAMES: [&str; 56] = [
    "Abs",
    "Absolute",
    "Add",
    "All",
    "Amax",
    "Amin",
    "Any",
    "Concatenate",
    "Divide",
    "Elu",
    "Equal",
    "Exp",
    "ExpandDims",
    "Gelu",
    "GetItem",
    "HardSigmoid",
    "HardSilu",
    "HardTanh",
    "LeakyRelu",
    "Log",
    "LogSigmoid",
    "LogSoftmax",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Matmul",
    "Max",
    "Maximum",
    "Mean",
    "Min",
    "Minimum",
    "Mish",
    "Multiply",
    "Negative",
    "NotEqual",
    "Power",
    "Relu",
    "Relu6",
    "Reshape",
    "Rsqrt",
    "Selu",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Square",
    "Squeeze",
    "Stack",
    "Subtract",
    "Sum",
    "Tanh",
    "Transpose",
    "TrueDivide",
    "Cast",
];

/// Whether there is an op of this class.
pub(super) fn is_known(class: &str) -> bool {
    NAMES.contains(&class)
}

/// The layer that computes what an op does.
pub(super) fn build(object: &Object<'_>, fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    if let Some((name, _)) = call.named.iter().find(|(name, _)| !is_operand(name)) {
        return Err(fields.problem(format!("it is called with `{name}`, which is not supported")));
    }
    let function = match object.class {
        "GetItem" => Function::GetItem { key: key(fields, call)? },
        _ => function(object, fields)?,
    };
    let arguments = match object.class {
        "GetItem" => call.arguments.iter().take(1).collect(),
        _ => call.arguments.iter().chain(call.named.iter().map(|(_, argument)| argument)).collect(),
    };
    let operands = operands(fields, arguments)?;
    Ok(Operation { function, operands }.into())
}

/// The names under which operands can be given.
fn is_operand(name: &str) -> bool {
    matches!(name, "x" | "x1" | "x2" | "inputs")
}

fn function(object: &Object<'_>, fields: &Fields<'_>) -> Result<Function, KerasError> {
    let axes = || fields.integers("axis").map(Option::unwrap_or_default);
    let axis = |default: isize| fields.integer("axis").map(|axis| axis.unwrap_or(default));
    let keepdims = || fields.flag("keepdims", false);
    Ok(match object.class {
        "Add" => Function::Add,
        "Subtract" => Function::Subtract,
        "Multiply" => Function::Multiply,
        "TrueDivide" | "Divide" => Function::TrueDivide,
        "Power" => Function::Power,
        "Maximum" => Function::Maximum,
        "Minimum" => Function::Minimum,
        "Negative" => Function::Negative,
        "Absolute" | "Abs" => Function::Absolute,
        "Sqrt" => Function::Sqrt,
        "Rsqrt" => Function::Rsqrt,
        "Exp" => Function::Exp,
        "Log" => Function::Log,
        "Square" => Function::Square,
        "Mean" => Function::Mean { axis: axes()?, keepdims: keepdims()? },
        "Sum" => Function::Sum { axis: axes()?, keepdims: keepdims()? },
        "Max" | "Amax" => {
            fields.only("initial", &[])?;
            Function::Max { axis: axes()?, keepdims: keepdims()? }
        }
        "Min" | "Amin" => {
            fields.only("initial", &[])?;
            Function::Min { axis: axes()?, keepdims: keepdims()? }
        }
        "Reshape" => {
            let newshape = fields.integers("newshape")?;
            Function::Reshape { newshape: newshape.ok_or_else(|| fields.problem("`newshape` is missing"))? }
        }
        "Transpose" => Function::Transpose { axes: positions(fields)? },
        "ExpandDims" => Function::ExpandDims { axis: axis(-1)? },
        "Squeeze" => Function::Squeeze { axis: fields.integers("axis")? },
        "Concatenate" => Function::Concatenate { axis: axis(0)? },
        "Stack" => Function::Stack { axis: axis(0)? },
        "Matmul" => Function::Matmul,
        "Softmax" => Function::Softmax { axis: axis(-1)? },
        "Cast" => Function::Cast { dtype: element(fields)? },
        _ => Function::Activation(activation(object, fields)?),
    })
}

/// Ops that are activations, too, with Keras's settings.
fn activation(object: &Object<'_>, fields: &Fields<'_>) -> Result<Activation, KerasError> {
    let activation = match object.class {
        "LeakyRelu" => Some(Activation::LeakyRelu(fields.number("negative_slope", 0.2)? as f32)),
        "Elu" => Some(Activation::Elu(fields.number("alpha", 1.0)? as f32)),
        "Gelu" if !fields.flag("approximate", true)? => Some(Activation::Gelu),
        "Gelu" => Some(Activation::GeluTanh),
        "Relu" | "Relu6" | "Sigmoid" | "HardSigmoid" | "Tanh" | "Silu" | "HardSilu" | "Softplus"
        | "Softsign" | "LogSigmoid" | "HardTanh" | "LogSoftmax" | "Selu" | "Mish" => {
            fields.only("axis", &[json!(-1)])?;
            Activation::parse(&snake_case(object.class))
        }
        _ => None,
    };
    activation.ok_or_else(|| {
        fields.problem_with_hint(
            format!("there is no such operation here: {} of {}", object.class, object.module),
            Some("use a layer of keras.layers in its place"),
        )
    })
}

fn snake_case(class: &str) -> String {
    let mut name = String::new();
    for (position, letter) in class.chars().enumerate() {
        if letter.is_ascii_uppercase() && position > 0 {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn positions(fields: &Fields<'_>) -> Result<Option<Vec<usize>>, KerasError> {
    let Some(axes) = fields.integers("axes")? else { return Ok(None) };
    let axes: Result<Vec<usize>, _> = axes.into_iter().map(usize::try_from).collect();
    axes.map(Some).map_err(|_| fields.problem("axes below 0 are not supported"))
}

fn element(fields: &Fields<'_>) -> Result<ElementType, KerasError> {
    match fields.text("dtype", "float32")? {
        "float32" => Ok(ElementType::F32),
        other => Err(fields.problem(format!("a cast to {other} is not supported"))),
    }
}

fn operands(fields: &Fields<'_>, arguments: Vec<&Argument<'_>>) -> Result<Vec<Operand>, KerasError> {
    let mut operands = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Tensor(_) => operands.push(Operand::Input),
            Argument::List(list) => operands.extend(self::operands(fields, list.iter().collect())?),
            Argument::Constant(value) => {
                let unknown = || fields.problem("one of its arguments is neither a tensor nor a number");
                operands.push(constant(value).ok_or_else(unknown)?);
            }
        }
    }
    Ok(operands)
}

/// A number, lists of numbers, or a tensor that was written out.
fn constant(value: &Value) -> Option<Operand> {
    if let Some(number) = value.as_f64() {
        return number.is_finite().then_some(Operand::Scalar(number as f32));
    }
    let class = value.get("class_name").and_then(Value::as_str);
    let value = match class {
        Some("__tensor__" | "__numpy__") => value.pointer("/config/value")?,
        Some(_) => return None,
        None => value,
    };
    let (mut shape, mut values) = (Vec::new(), Vec::new());
    flatten(value, 0, &mut shape, &mut values)?;
    match (shape.is_empty(), values.as_slice()) {
        (true, [number]) => Some(Operand::Scalar(*number)),
        _ => Some(Operand::Constant { shape, values }),
    }
}

/// Adds the numbers of lists in lists, all of the same lengths at each depth.
fn flatten(value: &Value, depth: usize, shape: &mut Vec<usize>, values: &mut Vec<f32>) -> Option<()> {
    let Some(list) = value.as_array() else {
        values.push(value.as_f64().filter(|number| number.is_finite())? as f32);
        return (depth == shape.len() && values.len() <= LARGEST_CONSTANT).then_some(());
    };
    match shape.get(depth) {
        // Before the first number the depths are not known yet.
        None if values.is_empty() && depth < 8 => shape.push(list.len()),
        Some(&length) if length == list.len() => {}
        _ => return None,
    }
    list.iter().try_for_each(|one| flatten(one, depth + 1, shape, values))
}

/// What stands in the brackets of `x[...]`.
fn key(fields: &Fields<'_>, call: &Call<'_>) -> Result<Vec<Index>, KerasError> {
    let unknown = || fields.problem("what stands in its brackets is not supported");
    let Some(Argument::Constant(value)) = call.arguments.get(1) else { return Err(unknown()) };
    let items = value.as_array().map_or(std::slice::from_ref(*value), Vec::as_slice);
    items.iter().map(|item| index(item).ok_or_else(unknown)).collect()
}

fn index(item: &Value) -> Option<Index> {
    let integer = |value: &Value| value.as_i64().and_then(|number| isize::try_from(number).ok());
    let class = item.get("class_name").and_then(Value::as_str);
    match (item, class) {
        (Value::Null, _) => Some(Index::NewAxis),
        (_, Some("__ellipsis__")) => Some(Index::Ellipsis),
        (_, Some("__slice__")) => {
            let bound = |name: &str| match item.pointer(&format!("/config/{name}")) {
                None | Some(Value::Null) => Some(None),
                Some(value) => integer(value).map(Some),
            };
            Some(Index::Range { start: bound("start")?, stop: bound("stop")?, step: bound("step")? })
        }
        _ => integer(item).or(as_count(item).and_then(|at| isize::try_from(at).ok())).map(Index::At),
    }
}
