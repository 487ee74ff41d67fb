//! The settings of Keras's ops: which fields a class has, and what they become.

use super::super::KerasError;
use super::super::call::{Argument, Call};
use super::super::fields::{Fields, as_count};
use plimsoll_model::layer::Named;
use serde_json::{Value, json};

/// A function, how many results it has, and which of its arguments are settings.
pub(super) struct Settings {
    pub(super) named: Named,
    pub(super) results: usize,
    pub(super) not_operands: &'static [usize],
}

/// Ops without settings.
const PLAIN: &str = "Sin Cos Tan Arcsin Arccos Arctan Sinh Cosh Arcsinh Arccosh Arctanh Erf Erfinv Log1p Expm1 Floor Ceil Trunc Sign \
    Isnan Isfinite Isinf Isposinf Isneginf StopGradient Fabs Log2 Log10 Deg2rad Rad2deg Copy Conjugate Real Imag Isreal \
    Reciprocal Cbrt Exp2 Sinc Signbit LogicalNot BitwiseNot BitwiseInvert SparsePlus SparseSigmoid TanhShrink Where Select Equal \
    NotEqual Less Greater GreaterEqual LessEqual LogicalAnd LogicalOr LogicalXor Arctan2 Mod Fmod FloorDivide RightShift LeftShift \
    BitwiseRightShift BitwiseLeftShift Ldexp DivideNoNan Fmax Fmin Hypot Heaviside Logaddexp Logaddexp2 Ravel Fliplr Flipud Hstack \
    Vstack Dstack Dot Inner Outer Vdot Kron Digitize";
/// Ops over axes.
const OVER_AXES: &str = "All Any Ptp Var Std Logsumexp Nansum Nanmean Median";
/// Ops along one axis, or along everything in a row.
const ALONG_AXIS: &str = "Argsort Sort Glu Sparsemax Take TakeAlongAxis LogSoftmax Append";

/// Every class that has settings here and is in no list above.
const OTHERS: &str = "Argmax Argmin Prod Nanprod CountNonzero Moments Cumsum Cumprod Nancumsum Nancumprod Flip Average Norm Normalize \
    BatchNorm LayerNorm RMSNorm OneHot MultiHot PSNR SparseCategoricalCrossentropy BinaryCrossentropy \
    Quantile Percentile SearchSorted InTopK TopK Diff Trapezoid Clip Round NanToNum Celu HardShrink SoftShrink Squareplus Threshold \
    ZerosLike OnesLike EmptyLike FullLike ConvertToTensor SaturateCast Isclose IsIn Moveaxis Swapaxes Rot90 Roll Repeat Tile Pad Split \
    ArraySplit Hsplit Vsplit Dsplit Unstack BroadcastTo Meshgrid Slice SliceUpdate Tril Triu Diagonal Trace Diag Diagflat Vander Linspace SegmentSum Einsum Tensordot Cross AveragePool MaxPool Conv DepthwiseConv SeparableConv \
    DepthToSpace SpaceToDepth ExtractPatches Unfold CropImages PadImages Resize RGBToGrayscale DotProductAttention";

/// Whether a class is listed here.
pub(super) fn is_listed(class: &str) -> bool {
    [PLAIN, OVER_AXES, ALONG_AXIS, OTHERS].iter().any(|list| list.split_whitespace().any(|one| one == class))
}

/// The settings of a class, or nothing if there is no such op here.
pub(super) fn read(
    class: &str,
    fields: &Fields<'_>,
    call: &Call<'_>,
) -> Result<Option<Settings>, KerasError> {
    let mut named = Named { class: class.to_string(), ..Named::default() };
    let listed = |list: &str| list.split_whitespace().any(|one| one == class);
    let (mut results, mut not_operands): (usize, &'static [usize]) = (1, &[]);
    if listed(PLAIN) {
        return Ok(Some(Settings { named, results, not_operands }));
    }
    if !is_listed(class) {
        return Ok(None);
    }
    if class != "Moments" {
        named.axis = axes(fields, "axis")?;
    }
    named.keepdims = fields.flag("keepdims", false)?;
    match class {
        "Moments" => {
            named.axis = axes(fields, "axes")?;
            fields.only("synchronized", &[json!(false)])?;
            results = 2;
        }
        "Prod" | "Cumsum" | "Cumprod" | "Nancumsum" | "Nancumprod" => fields.only("dtype", &[])?,
        "ConvertToTensor" => {
            fields.only("dtype", &[json!("float32")])?;
            fields.only("sparse", &[json!(false)])?;
            fields.only("ragged", &[json!(false)])?;
        }
        "ZerosLike" | "OnesLike" | "EmptyLike" | "FullLike" => {
            fields.only("dtype", &[json!("float32"), json!("int32"), json!("int64"), json!("bool")])?;
        }
        "Norm" => norm(fields, &mut named)?,
        "Normalize" => {
            named.integers = vec![fields.integer("order")?.unwrap_or(2)];
            named.numbers = vec![fields.number("epsilon", 1e-7)? as f32];
        }
        "BatchNorm" => {
            named.numbers = vec![fields.number("epsilon", 1e-3)? as f32];
            named.integers = vec![isize::from(is_given(call, 3)), isize::from(is_given(call, 4))];
        }
        "LayerNorm" => {
            fields.only("rms_scaling", &[json!(false)])?;
            named.numbers = vec![fields.number("epsilon", 1e-7)? as f32];
            named.integers = vec![isize::from(is_given(call, 1)), isize::from(is_given(call, 2))];
        }
        "RMSNorm" => {
            named.numbers = vec![fields.number("epsilon", 1e-7)? as f32];
            let scale = call.named.iter().any(|(_, value)| !matches!(value, Argument::Constant(Value::Null)));
            named.integers = vec![isize::from(scale || is_given(call, 1)), 0];
        }
        "OneHot" | "MultiHot" => {
            fields.only("sparse", &[json!(false)])?;
            fields.only("dtype", &[json!("float32"), json!("int32"), json!("bool")])?;
            named.integers = vec![integer(fields, "num_classes")?];
            if class == "MultiHot" {
                fields.only("axis", &[json!(-1)])?;
            }
        }
        "PSNR" => named.numbers = vec![fields.number("max_val", 1.0)? as f32],
        "SparseCategoricalCrossentropy" | "BinaryCrossentropy" => {
            from_logits(fields)?;
        }
        "Quantile" | "Percentile" => {
            // Keras goes by other methods in a functional model than outside of one.
            fields.only("method", &[json!("linear")])?;
            let scale = if class == "Percentile" { 100.0 } else { 1.0 };
            let value = constant(call, 1).ok_or_else(|| fields.problem("its share is no number"))?;
            let shares = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            let shares: Option<Vec<f64>> = shares.iter().map(Value::as_f64).collect();
            let shares = shares.filter(|shares| !shares.is_empty());
            let shares = shares.ok_or_else(|| fields.problem("its share is no number"))?;
            named.numbers = shares.into_iter().map(|share| (share / scale) as f32).collect();
            named.integers = vec![isize::from(value.is_array())];
            not_operands = &[1];
        }
        "Median" => {
            named.numbers = vec![0.5];
        }
        "SearchSorted" => named.text = fields.text("side", "left")?.to_string(),
        "InTopK" => named.integers = vec![integer(fields, "k")?],
        "TopK" => {
            fields.only("sorted", &[json!(true)])?;
            named.integers = vec![integer(fields, "k")?];
            results = 2;
        }
        "Diff" => named.integers = vec![fields.integer("n")?.unwrap_or(1)],
        "Trapezoid" => {
            fields.only("x", &[])?;
            named.numbers = vec![fields.number("dx", 1.0)? as f32];
        }
        "Clip" => named.numbers = numbers(fields, &["x_min", "x_max"])?,
        "Round" => named.integers = vec![fields.integer("decimals")?.unwrap_or(0)],
        "NanToNum" => {
            let bound = |key: &str, default: f32| fields.number(key, f64::from(default)).map(|x| x as f32);
            named.numbers = vec![bound("nan", 0.0)?, bound("posinf", f32::MAX)?, bound("neginf", f32::MIN)?];
        }
        "Celu" => named.numbers = vec![fields.number("alpha", 1.0)? as f32],
        "HardShrink" | "SoftShrink" => named.numbers = vec![fields.number("threshold", 0.5)? as f32],
        "Squareplus" => named.numbers = vec![fields.number("b", 4.0)? as f32],
        "Threshold" => named.numbers = numbers(fields, &["threshold", "default_value"])?,
        "SaturateCast" => {
            let dtype = fields.text("dtype", "")?;
            let bounds = match dtype {
                "uint8" => [0.0, 255.0],
                "int8" => [-128.0, 127.0],
                "int16" => [-32768.0, 32767.0],
                "uint16" => [0.0, 65535.0],
                // The largest float32 that an int32 can hold.
                "int32" => [-2147483648.0, 2147483520.0],
                other => return Err(fields.problem(format!("a cast to {other} is not supported"))),
            };
            named.numbers = bounds.to_vec();
        }
        "Isclose" => fields.only("equal_nan", &[json!(false)])?,
        "IsIn" => {
            fields.skip(&["assume_unique"]);
            named.integers = vec![isize::from(fields.flag("invert", false)?)];
        }
        "Moveaxis" => named.integers = two_lists(fields, "source", "destination")?,
        "Swapaxes" => named.integers = vec![integer(fields, "axis1")?, integer(fields, "axis2")?],
        "Rot90" => {
            let axes = fields.integers("axes")?.filter(|axes| axes.len() == 2).unwrap_or_else(|| vec![0, 1]);
            named.integers = [&[fields.integer("k")?.unwrap_or(1)], &axes[..]].concat();
        }
        "Roll" => named.integers = list(fields, "shift")?,
        "Repeat" => {
            let repeats = list(fields, "repeats")?;
            if repeats.len() != 1 {
                return Err(fields.problem("several counts of repetitions are not supported"));
            }
            named.integers = repeats;
        }
        "Tile" => named.integers = list(fields, "repeats")?,
        "Pad" => pad(fields, call, &mut named)?,
        "Split" | "ArraySplit" | "Hsplit" | "Vsplit" | "Dsplit" => {
            named.integers = list(fields, "indices_or_sections")?;
            let sections = fields.get("indices_or_sections").is_some_and(Value::is_number);
            named.text = if sections { "sections" } else { "bounds" }.to_string();
            results = if sections {
                usize::try_from(named.integers[0]).unwrap_or(0)
            } else {
                named.integers.len() + 1
            };
        }
        "Unstack" => results = unstacked(fields, call, &named)?,
        "BroadcastTo" => named.integers = list(fields, "shape")?,
        "Meshgrid" => {
            named.text = fields.text("indexing", "xy")?.to_string();
            results = call.tensors().len();
        }
        "Slice" => {
            named.integers = start(fields, call, 1)?;
            named.integers.extend(list(fields, "shape")?);
            not_operands = &[1];
        }
        "SliceUpdate" => {
            named.integers = start(fields, call, 1)?;
            not_operands = &[1];
        }
        "Tril" | "Triu" | "Diag" | "Diagflat" => named.integers = vec![fields.integer("k")?.unwrap_or(0)],
        "Diagonal" | "Trace" => {
            let offset = fields.integer("offset")?.unwrap_or(0);
            let second = fields.integer("axis2")?.unwrap_or(1);
            named.integers = vec![offset, fields.integer("axis1")?.unwrap_or(0), second];
        }
        "Vander" => {
            named.integers = vec![integer(fields, "N")?, isize::from(fields.flag("increasing", false)?)];
        }
        "Linspace" => {
            fields.only("retstep", &[json!(false)])?;
            fields.only("dtype", &[json!("float32")])?;
            named.integers = vec![integer(fields, "num")?, isize::from(fields.flag("endpoint", true)?)];
        }
        "SegmentSum" => {
            fields.only("sorted", &[json!(false)])?;
            named.integers = vec![integer(fields, "num_segments")?];
        }
        "Einsum" => named.text = fields.text("subscripts", "")?.to_string(),
        "Tensordot" => named.integers = contracted(fields, call)?,
        "Cross" => {
            for key in ["axisa", "axisb", "axisc"] {
                fields.only(key, &[json!(-1)])?;
            }
            fields.only("axis", &[json!(-1)])?;
        }
        "AveragePool" | "MaxPool" => {
            let window = list(fields, "pool_size")?;
            let strides = fields.integers("strides")?.unwrap_or_else(|| window.clone());
            named.integers = same_lengths(window, strides);
            sliding(fields, &mut named)?;
        }
        "Conv" | "DepthwiseConv" | "SeparableConv" => {
            let strides = fields.integers("strides")?.unwrap_or_else(|| vec![1]);
            let dilation = fields.integers("dilation_rate")?.unwrap_or_else(|| vec![1]);
            named.integers = same_lengths(strides, dilation);
            sliding(fields, &mut named)?;
        }
        "DepthToSpace" | "SpaceToDepth" => {
            fields.only("data_format", &[json!("channels_last")])?;
            named.integers = vec![integer(fields, "block_size")?];
        }
        "ExtractPatches" => {
            let window = list(fields, "size")?;
            let strides = fields.integers("strides")?.unwrap_or_else(|| window.clone());
            let dilation = fields.integers("dilation_rate")?.unwrap_or_else(|| vec![1]);
            for one in [window, strides, dilation] {
                named.integers.extend(pair(fields, one)?);
            }
            sliding(fields, &mut named)?;
        }
        "Unfold" => {
            for key in ["kernel_size", "dilation", "padding", "stride"] {
                named.integers.extend(pair(fields, list(fields, key)?)?);
            }
        }
        "CropImages" => {
            let keys = [
                "top_cropping",
                "left_cropping",
                "bottom_cropping",
                "right_cropping",
                "target_height",
                "target_width",
            ];
            named.integers = keys
                .iter()
                .map(|key| fields.integer(key).map(|one| one.unwrap_or(-1)))
                .collect::<Result<_, _>>()?;
            fields.only("data_format", &[json!("channels_last")])?;
        }
        "PadImages" => {
            let keys = ["top_padding", "left_padding", "bottom_padding", "right_padding"];
            named.integers = keys.iter().map(|key| integer(fields, key)).collect::<Result<_, _>>()?;
            fields.only("target_height", &[])?;
            fields.only("target_width", &[])?;
            fields.only("data_format", &[json!("channels_last")])?;
        }
        "Resize" => resize(fields, &mut named)?,
        "RGBToGrayscale" => fields.only("data_format", &[json!("channels_last")])?,
        "DotProductAttention" => {
            fields.only("flash_attention", &[json!(false)])?;
            fields.only("attn_logits_soft_cap", &[])?;
            named.integers = vec![isize::from(fields.flag("is_causal", false)?)];
            if let Some((_, Argument::Constant(value))) = call.named.iter().find(|(name, _)| *name == "scale")
            {
                named.numbers = value.as_f64().map(|scale| scale as f32).into_iter().collect();
            }
        }
        _ => {}
    }
    Ok(Some(Settings { named, results, not_operands }))
}

/// What Keras does with probabilities depends on where they come from.
fn from_logits(fields: &Fields<'_>) -> Result<(), KerasError> {
    match fields.flag("from_logits", false)? {
        true => Ok(()),
        false => Err(fields.problem_with_hint(
            "it takes probabilities, which is not supported",
            Some("leave out the softmax or sigmoid and say from_logits=True"),
        )),
    }
}

/// One axis or several; an empty list of axes is nothing that anybody means.
fn axes(fields: &Fields<'_>, key: &str) -> Result<Option<Vec<isize>>, KerasError> {
    match fields.integers(key)? {
        Some(axes) if axes.is_empty() => Err(fields.problem(format!("{key}=[] is not supported"))),
        axes => Ok(axes),
    }
}

fn integer(fields: &Fields<'_>, key: &str) -> Result<isize, KerasError> {
    fields
        .integer(key)?
        .ok_or_else(|| fields.problem(format!("`{key}` is not a number, which is not supported")))
}

fn list(fields: &Fields<'_>, key: &str) -> Result<Vec<isize>, KerasError> {
    let lists = fields.integers(key)?;
    lists.filter(|list| !list.is_empty()).ok_or_else(|| fields.problem(format!("`{key}` is missing")))
}

fn two_lists(fields: &Fields<'_>, one: &str, two: &str) -> Result<Vec<isize>, KerasError> {
    let (one, two) = (list(fields, one)?, list(fields, two)?);
    match one.len() == two.len() {
        true => Ok([one, two].concat()),
        false => Err(fields.problem("the lists of axes differ in length")),
    }
}

fn numbers(fields: &Fields<'_>, keys: &[&str]) -> Result<Vec<f32>, KerasError> {
    let number = |key: &&str| {
        let value = fields.get(key).and_then(Value::as_f64);
        value
            .map(|x| x as f32)
            .ok_or_else(|| fields.problem(format!("`{key}` is not a number, which is not supported")))
    };
    keys.iter().map(number).collect()
}

fn constant<'a>(call: &Call<'a>, position: usize) -> Option<&'a Value> {
    match call.arguments.get(position) {
        Some(Argument::Constant(value)) => Some(value),
        _ => None,
    }
}

fn is_given(call: &Call<'_>, position: usize) -> bool {
    call.arguments.get(position).is_some_and(|one| !matches!(one, Argument::Constant(Value::Null)))
}

fn start(fields: &Fields<'_>, call: &Call<'_>, position: usize) -> Result<Vec<isize>, KerasError> {
    let unknown = || fields.problem("where it starts is no list of numbers");
    let list = constant(call, position).and_then(Value::as_array).ok_or_else(unknown)?;
    let integers: Option<Vec<isize>> =
        list.iter().map(|one| one.as_i64().and_then(|one| isize::try_from(one).ok())).collect();
    integers.ok_or_else(unknown)
}

fn norm(fields: &Fields<'_>, named: &mut Named) -> Result<(), KerasError> {
    match fields.get("ord") {
        None => Ok(()),
        Some(Value::String(text)) if text == "fro" => Ok(()),
        Some(value) => {
            let order =
                value.as_f64().ok_or_else(|| fields.problem(format!("ord={value} is not supported")))?;
            named.numbers = vec![order as f32];
            Ok(())
        }
    }
}

fn pad(fields: &Fields<'_>, call: &Call<'_>, named: &mut Named) -> Result<(), KerasError> {
    let widths = fields.get("pad_width").ok_or_else(|| fields.problem("`pad_width` is missing"))?;
    let flat = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let all = flat(widths).iter().flat_map(flat).collect::<Vec<_>>();
    let all: Option<Vec<isize>> =
        all.iter().map(|one| as_count(one).and_then(|one| isize::try_from(one).ok())).collect();
    named.integers = all.ok_or_else(|| fields.problem("`pad_width` is no list of counts"))?;
    named.text = fields.text("mode", "constant")?.to_string();
    if !["constant", "reflect", "symmetric"].contains(&named.text.as_str()) {
        return Err(fields.problem(format!("mode={} is not supported", named.text)));
    }
    let value = call.named.iter().find(|(name, _)| *name == "constant_values").map(|(_, value)| value);
    match value {
        None | Some(Argument::Constant(Value::Null)) => Ok(()),
        Some(Argument::Constant(value)) if value.is_number() => {
            named.numbers = vec![value.as_f64().unwrap_or(0.0) as f32];
            Ok(())
        }
        Some(_) => Err(fields.problem("constant_values is no number")),
    }
}

fn unstacked(fields: &Fields<'_>, call: &Call<'_>, named: &Named) -> Result<usize, KerasError> {
    if let Some(count) = fields.optional_count("num")? {
        return Ok(count);
    }
    let unknown =
        || fields.problem_with_hint("how many results it has is not known", Some("say it with num=..."));
    let shape = call.raw.first().and_then(|one| one.pointer("/config/shape")).and_then(Value::as_array);
    let shape = shape.ok_or_else(unknown)?;
    let axis = named.axis.as_ref().map_or(0, |axes| axes[0]);
    let axis = if axis < 0 { shape.len().checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
    axis.and_then(|axis| shape.get(axis)).and_then(as_count).ok_or_else(unknown)
}

/// Pairs of axes that are summed over: those of the one side, then those of the other.
fn contracted(fields: &Fields<'_>, call: &Call<'_>) -> Result<Vec<isize>, KerasError> {
    let wrong = || fields.problem("its axes are not supported");
    let value = fields.get("axes").ok_or_else(wrong)?;
    let _ = call;
    if let Some(count) = value.as_i64().and_then(|count| isize::try_from(count).ok()) {
        return Ok((-count..0).chain(0..count).collect());
    }
    let flat = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let sides: Vec<Vec<Value>> = flat(value).iter().map(flat).collect();
    let [one, two] = &sides[..] else { return Err(wrong()) };
    let both: Option<Vec<isize>> =
        one.iter().chain(two).map(|axis| axis.as_i64().and_then(|axis| isize::try_from(axis).ok())).collect();
    both.filter(|_| one.len() == two.len()).ok_or_else(wrong)
}

fn same_lengths(mut one: Vec<isize>, mut two: Vec<isize>) -> Vec<isize> {
    if one.len() == 1 {
        one = vec![one[0]; two.len().max(1)];
    }
    if two.len() == 1 {
        two = vec![two[0]; one.len()];
    }
    [one, two].concat()
}

fn pair(fields: &Fields<'_>, list: Vec<isize>) -> Result<[isize; 2], KerasError> {
    match list[..] {
        [one] => Ok([one, one]),
        [one, two] => Ok([one, two]),
        _ => Err(fields.problem("windows of more than two axes are not supported")),
    }
}

fn sliding(fields: &Fields<'_>, named: &mut Named) -> Result<(), KerasError> {
    fields.only("data_format", &[json!("channels_last")])?;
    named.text = fields.text("padding", "valid")?.to_string();
    Ok(())
}

fn resize(fields: &Fields<'_>, named: &mut Named) -> Result<(), KerasError> {
    named.integers = list(fields, "size")?;
    named.text = fields.text("interpolation", "bilinear")?.to_string();
    fields.only("interpolation", &[json!("bilinear"), json!("nearest")])?;
    fields.only("data_format", &[json!("channels_last")])?;
    fields.skip(&["fill_mode", "fill_value"]);
    for key in ["antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio"] {
        fields.only(key, &[json!(false)])?;
    }
    Ok(())
}
