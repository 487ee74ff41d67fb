//! The operation layers that Keras 3 writes for arithmetic on tensors, such as `2 * x + y` or `x[:, 1:]`.

mod settings;

use super::KerasError;
use super::call::{Argument, Call};
use super::config::Object;
use super::fields::{Fields, as_count};
use plimsoll_graph::ElementType;
use plimsoll_model::Layer;
use plimsoll_model::layer::{Activation, Function, Index, Named, Operand, Operation};
use serde_json::Value;

/// The most elements of a constant in a configuration.
const LARGEST_CONSTANT: usize = 1 << 16;

/// Ops of plain arithmetic and shapes, by their classes; the others have settings of their own.
const NAMES: [&str; 44] = [
    "Abs",
    "Absolute",
    "Add",
    "Amax",
    "Amin",
    "Cast",
    "Concatenate",
    "Divide",
    "Elu",
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
    "Matmul",
    "Max",
    "Maximum",
    "Mean",
    "Min",
    "Minimum",
    "Mish",
    "Multiply",
    "Negative",
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
];
const MORE_NAMES: [&str; 4] = ["Sum", "Tanh", "Transpose", "TrueDivide"];

/// Whether there is an op of this class.
pub(super) fn is_known(class: &str) -> bool {
    NAMES.contains(&class) || MORE_NAMES.contains(&class) || settings::is_listed(class)
}

/// The layers that compute the results of an op, one each.
pub(super) fn build_all(
    object: &Object<'_>,
    fields: &Fields<'_>,
    call: &Call<'_>,
) -> Result<Vec<Layer>, KerasError> {
    fields.skip(&["name"]);
    check_types(object, fields, call)?;
    let class = class_for(object, call);
    if let Some(settings) = settings::read(class, fields, call)? {
        let arguments = operands_of(fields, call, settings.not_operands)?;
        let parts = (0..settings.results).map(|part| {
            let named = Named { part, ..settings.named.clone() };
            Operation { function: Function::Named(named), operands: arguments.clone() }.into()
        });
        return Ok(parts.collect());
    }
    let function = match object.class {
        "GetItem" => Function::GetItem { key: key(fields, call)? },
        _ => function(object, fields)?,
    };
    let not_operands: &[usize] = if object.class == "GetItem" { &[1] } else { &[] };
    let operands = operands_of(fields, call, not_operands)?;
    Ok(vec![Operation { function, operands }.into()])
}

/// The tensors and constants that an op is computed from.
fn operands_of(fields: &Fields<'_>, call: &Call<'_>, not: &[usize]) -> Result<Vec<Operand>, KerasError> {
    let tensors = call.named.iter().filter(|(_, argument)| matches!(argument, Argument::Tensor(_))).count();
    let mut given = Vec::new();
    for (name, argument) in &call.named {
        let constant = matches!(argument, Argument::Constant(_));
        // What was written out is a tensor as well.
        let written = matches!(argument, Argument::Constant(value) if value.is_object() || value.is_array());
        let single = SINGLE.contains(name) && (if constant { written } else { tensors == 1 });
        match is_operand(name) || single {
            true if matches!(argument, Argument::Constant(Value::Null)) => {}
            true => given.push(argument),
            false if constant && (SETTINGS.contains(name) || is_nothing(argument)) => {}
            false => {
                return Err(fields.problem(format!("it is called with `{name}`, which is not supported")));
            }
        }
    }
    let positional = call.arguments.iter().enumerate().filter(|(place, _)| !not.contains(place));
    let positional = positional.map(|(_, argument)| argument).filter(|argument| !is_nothing(argument));
    operands(fields, positional.chain(given).collect())
}

/// Arguments by name that may be a tensor where they are the only one.
const SINGLE: [&str; 4] = ["weights", "scale", "condition", "indices"];
/// Arguments by name that are read with the settings.
const SETTINGS: [&str; 2] = ["constant_values", "scale"];

fn is_nothing(argument: &Argument<'_>) -> bool {
    matches!(argument, Argument::Constant(Value::Null))
}

/// The names under which operands can be given.
fn is_operand(name: &str) -> bool {
    matches!(name, "x" | "x1" | "x2" | "inputs")
}

/// The class as which an op is computed: what turns the bits of a truth value is its opposite.
fn class_for<'a>(object: &Object<'a>, call: &Call<'_>) -> &'a str {
    let types: Vec<&str> = types(call).collect();
    let all = |wanted: &str| !types.is_empty() && types.iter().all(|&dtype| dtype == wanted);
    match object.class {
        "BitwiseNot" | "BitwiseInvert" if all("bool") => "LogicalNot",
        class => class,
    }
}

/// Whether an op is called with truth values alone.
pub(super) fn is_logic(call: &Call<'_>) -> bool {
    let mut types = types(call).peekable();
    types.peek().is_some() && types.all(|dtype| dtype == "bool")
}

/// The element types of the tensors that an op is called with, as far as the file says.
fn types<'a>(call: &Call<'a>) -> impl Iterator<Item = &'a str> {
    let lists =
        call.raw.iter().flat_map(|one| one.as_array().map_or(std::slice::from_ref(one), Vec::as_slice));
    let tensors =
        lists.filter(|one| one.get("class_name").and_then(Value::as_str) == Some("__keras_tensor__"));
    tensors.filter_map(|one| one.pointer("/config/dtype").and_then(Value::as_str))
}

/// Integers of few bits wrap around in Keras; here all integers are computed in float32, exactly up to 2^24.
fn check_types(object: &Object<'_>, fields: &Fields<'_>, call: &Call<'_>) -> Result<(), KerasError> {
    let wraps =
        ["Add", "Subtract", "Multiply", "Power", "Negative", "LeftShift", "BitwiseLeftShift", "Square"];
    let small = ["uint8", "int8", "uint16", "int16", "uint32", "uint64"];
    let types: Vec<&str> = types(call).collect();
    let narrow = types.iter().all(|dtype| small.contains(dtype)) && !types.is_empty();
    let by_float =
        call.arguments.iter().any(|one| matches!(one, Argument::Constant(value) if value.is_f64()));
    if wraps.contains(&object.class) && narrow && !by_float {
        return Err(fields.problem_with_hint(
            format!("it computes in {}, where large numbers wrap around", types[0]),
            Some("cast to float32 or int32 first: keras.ops.cast(x, \"float32\")"),
        ));
    }
    if let Some(wide) = types.iter().find(|&&dtype| dtype == "float64" || dtype.starts_with("complex")) {
        return Err(fields.problem(format!("it computes in {wide}, which is not supported")));
    }
    Ok(())
}

fn function(object: &Object<'_>, fields: &Fields<'_>) -> Result<Function, KerasError> {
    let axes = || match fields.integers("axis")? {
        Some(axes) if axes.is_empty() => Err(fields.problem("axis=[] is not supported")),
        axes => Ok(axes.unwrap_or_default()),
    };
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
        "ExpandDims" => match fields.integers("axis")?.as_deref() {
            Some(&[axis]) => Function::ExpandDims { axis },
            Some(several) => {
                let class = "ExpandDims".to_string();
                Function::Named(Named { class, integers: several.to_vec(), ..Named::default() })
            }
            None => return Err(fields.problem("`axis` is missing")),
        },
        "Squeeze" => Function::Squeeze { axis: fields.integers("axis")? },
        "Concatenate" => Function::Concatenate { axis: axis(0)? },
        "Stack" => Function::Stack { axis: axis(0)? },
        "Matmul" => Function::Matmul,
        "Softmax" => Function::Softmax { axis: axis(-1)? },
        "Cast" => cast(fields)?,
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
        | "Softsign" | "LogSigmoid" | "HardTanh" | "Selu" | "Mish" => {
            Activation::parse(&snake_case(object.class))
        }
        _ => None,
    };
    activation.ok_or_else(|| {
        fields.problem_with_hint(
            format!("there is no such operation here: {} of {}", object.class, object.module),
            Some("write it with operations that are supported (docs/keras-coverage.md lists them), or cut it out of the model before it is saved"),
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
    let rank = axes.len();
    let position =
        |axis: isize| if axis < 0 { rank.checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
    let axes: Option<Vec<usize>> = axes.into_iter().map(position).collect();
    axes.map(Some).ok_or_else(|| fields.problem("its axes are no order of axes"))
}

/// Integers and truth values are float32 here: whole numbers, and 0 and 1.
fn cast(fields: &Fields<'_>) -> Result<Function, KerasError> {
    let named = |class: &str| Function::Named(Named { class: class.to_string(), ..Named::default() });
    match fields.text("dtype", "float32")? {
        "float32" => Ok(Function::Cast { dtype: ElementType::F32 }),
        "int32" | "int64" => Ok(named("CastInteger")),
        "bool" => Ok(named("CastBool")),
        other => Err(fields.problem_with_hint(
            format!("a cast to {other} is not supported"),
            Some("the casts are to float32, int32, int64 and bool"),
        )),
    }
}

fn operands(fields: &Fields<'_>, arguments: Vec<&Argument<'_>>) -> Result<Vec<Operand>, KerasError> {
    let mut operands = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Tensor(_) => operands.push(Operand::Input),
            Argument::Keyed(_) => return Err(fields.problem("a dictionary as an argument is not supported")),
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
    if let Some(number) = value.as_f64().or(value.as_bool().map(f64::from)) {
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
        let number = value.as_f64().or(value.as_bool().map(f64::from));
        values.push(number.filter(|number| number.is_finite())? as f32);
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
