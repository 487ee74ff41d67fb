//! Layers that prepare data: classes, intervals, vocabularies and hashes of integers.

use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_graph::op::{Hash, Otherwise};
use plimsoll_model::Layer;
use plimsoll_model::layer::{CategoryEncoding, Discretization, Encoding, Hashing, IntegerLookup};
use serde_json::{Value, json};

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("sparse", &[json!(false)])?;
    match fields.class() {
        "CategoryEncoding" => {
            let output_mode = encoding(fields, "multi_hot")?;
            Ok(CategoryEncoding { num_tokens: fields.count("num_tokens")?, output_mode }.into())
        }
        "Discretization" => discretization(fields),
        "Hashing" => hashing(fields),
        _ => integer_lookup(fields),
    }
}

fn encoding(fields: &Fields<'_>, default: &'static str) -> Result<Encoding, KerasError> {
    match fields.text("output_mode", default)? {
        "int" => Ok(Encoding::Int),
        "one_hot" => Ok(Encoding::OneHot),
        "multi_hot" | "binary" => Ok(Encoding::MultiHot),
        "count" => Ok(Encoding::Count),
        other => Err(fields.problem(format!("output_mode={other} is not supported"))),
    }
}

fn discretization(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    // How boundaries were found once.
    fields.skip(&["num_bins", "epsilon"]);
    let number = |value: &Value| value.as_f64().map(|x| x as f32);
    let boundaries = fields.get("bin_boundaries").and_then(Value::as_array);
    let boundaries = boundaries.and_then(|list| list.iter().map(number).collect::<Option<Vec<_>>>());
    let missing = || {
        let hint = "call adapt() or give bin_boundaries before the model is saved";
        fields.problem_with_hint("it has no bin_boundaries", Some(hint))
    };
    let bin_boundaries = boundaries.ok_or_else(missing)?;
    Ok(Discretization { bin_boundaries, output_mode: encoding(fields, "int")? }.into())
}

fn hashing(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let wrong = |key: &str| fields.problem(format!("its `{key}` is not supported: integers are hashed here"));
    let mask_value = match fields.get("mask_value") {
        Some(value) => Some(as_i32(value).ok_or_else(|| wrong("mask_value"))?),
        None => None,
    };
    let num_bins = u32::try_from(fields.count("num_bins")?).ok().filter(|&bins| 0 < bins && bins < 1 << 24);
    let num_bins = num_bins.ok_or_else(|| wrong("num_bins"))?;
    Ok(Hashing { num_bins, mask_value, salt: salt(fields)?, output_mode: encoding(fields, "int")? }.into())
}

fn salt(fields: &Fields<'_>) -> Result<Option<[u64; 2]>, KerasError> {
    let Some(value) = fields.get("salt") else { return Ok(None) };
    let key = match value.as_array().map(Vec::as_slice) {
        Some([first, second]) => first.as_u64().zip(second.as_u64()),
        Some(_) => None,
        None => value.as_u64().map(|both| (both, both)),
    };
    let wrong = || fields.problem(format!("salt={value} is no pair of integers"));
    key.map(|(first, second)| Some([first, second])).ok_or_else(wrong)
}

fn integer_lookup(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("vocabulary_dtype", &[json!("int64"), json!("int32")])?;
    let output_mode = encoding(fields, "int")?;
    let mask = fields.get("mask_token").map(|value| (value, as_i32(value)));
    let oov_token = fields.get("oov_token").and_then(as_i32).unwrap_or(-1);
    let unknown = fields.count("num_oov_indices")?;
    let vocabulary = vocabulary(fields)?;
    let mask = match mask {
        Some((value, None)) => return Err(fields.problem(format!("mask_token={value} is no int32"))),
        Some((_, token)) => token,
        None => None,
    };
    let first_unknown = usize::from(mask.is_some() && output_mode == Encoding::Int);
    let start = first_unknown + unknown;
    let special: Vec<i32> = mask.into_iter().take(first_unknown).chain(vec![oov_token; unknown]).collect();
    let listed = vocabulary.get(..start).is_some_and(|front| front == special);
    let tokens = if listed { &vocabulary[start..] } else { &vocabulary[..] };
    let sizes = [fields.optional_count("max_tokens")?, fields.optional_count("vocabulary_size")?];
    let depth = if fields.flag("pad_to_max_tokens", false)? { sizes[0] } else { sizes[1] };
    let depth = depth.unwrap_or(start + tokens.len());
    let numbers = (start..).map(|number| number as i32);
    let mut entries: Vec<[i32; 2]> = tokens.iter().zip(numbers).map(|(&token, at)| [token, at]).collect();
    let otherwise = otherwise(fields, first_unknown as i32, unknown)?;
    if fields.flag("invert", false)? {
        entries.iter_mut().for_each(|entry| entry.reverse());
        entries.extend(mask.map(|token| [0, token]));
        let otherwise = Otherwise::Fixed(oov_token);
        return Ok(IntegerLookup { entries: sorted(entries), otherwise, output_mode, depth }.into());
    }
    if let Some(mask) = mask {
        entries.retain(|entry| entry[0] != mask);
        // What is masked has no place in vectors.
        entries.push([mask, if output_mode == Encoding::Int { 0 } else { -1 }]);
    }
    Ok(IntegerLookup { entries: sorted(entries), otherwise, output_mode, depth }.into())
}

/// The number of what is not in the vocabulary.
fn otherwise(fields: &Fields<'_>, first: i32, count: usize) -> Result<Otherwise, KerasError> {
    let (method, key) = (fields.text("oov_method", "floormod")?, salt(fields)?);
    Ok(match (count, method) {
        (0, _) => Otherwise::Nothing,
        (1, _) => Otherwise::Fixed(first),
        (count, "farmhash") => Otherwise::Hash { first, hash: Hash { count: count as u32, key } },
        (count, _) => Otherwise::Modulo { first, count: count as i32 },
    })
}

fn vocabulary(fields: &Fields<'_>) -> Result<Vec<i32>, KerasError> {
    let Some(value) = fields.get("vocabulary") else {
        let hint = "save it as IntegerLookup(vocabulary=layer.get_vocabulary(), ...)";
        return Err(fields.problem_with_hint("its vocabulary is not in its configuration", Some(hint)));
    };
    let tokens = value.as_array().and_then(|list| list.iter().map(as_i32).collect::<Option<Vec<_>>>());
    tokens.ok_or_else(|| fields.problem("its vocabulary is no list of int32"))
}

fn sorted(mut entries: Vec<[i32; 2]>) -> Vec<[i32; 2]> {
    entries.sort_unstable();
    entries.dedup_by_key(|entry| entry[0]);
    entries
}

fn as_i32(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}
