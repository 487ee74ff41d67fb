//! Layers that make sequences and images larger or smaller.

use super::convolution::channels_last;
use crate::keras::KerasError;
use crate::keras::fields::{Fields, as_pair};
use plimsoll_graph::op::Interpolation;
use plimsoll_model::Layer;
use plimsoll_model::layer::{
    Cropping1d, Cropping2d, Resizing, UpSampling1d, UpSampling2d, ZeroPadding1d, ZeroPadding2d,
};
use serde_json::json;

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    channels_last(fields)?;
    Ok(match fields.class() {
        "ZeroPadding1D" => ZeroPadding1d { padding: fields.pair("padding")?.unwrap_or([1, 1]) }.into(),
        "ZeroPadding2D" => ZeroPadding2d { padding: margins(fields, "padding", 1)? }.into(),
        "Cropping1D" => Cropping1d { cropping: fields.pair("cropping")?.unwrap_or([1, 1]) }.into(),
        "Cropping2D" => Cropping2d { cropping: margins(fields, "cropping", 0)? }.into(),
        "UpSampling1D" => UpSampling1d { size: fields.single("size")?.unwrap_or(2) }.into(),
        "UpSampling2D" => up_sampling2d(fields)?,
        _ => resizing(fields)?,
    })
}

/// Above and below, left and right: one number for all, one for rows and one for columns, or all four.
fn margins(fields: &Fields<'_>, key: &str, default: usize) -> Result<[[usize; 2]; 2], KerasError> {
    let Some(value) = fields.get(key) else { return Ok([[default; 2]; 2]) };
    let margins = match value.as_array().map(Vec::as_slice) {
        Some([rows, columns]) => as_pair(rows).zip(as_pair(columns)).map(|(rows, columns)| [rows, columns]),
        Some(_) => None,
        None => as_pair(value).map(|all| [all; 2]),
    };
    margins.ok_or_else(|| fields.problem(format!("{key}={value} is not two pairs of counts")))
}

fn up_sampling2d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let size = fields.pair("size")?.unwrap_or([2, 2]);
    Ok(UpSampling2d { size, interpolation: interpolation(fields, "nearest")? }.into())
}

fn interpolation(fields: &Fields<'_>, default: &'static str) -> Result<Interpolation, KerasError> {
    match fields.text("interpolation", default)? {
        "nearest" => Ok(Interpolation::Nearest),
        "bilinear" => Ok(Interpolation::Bilinear),
        other => Err(fields.problem(format!("interpolation={other} is not supported"))),
    }
}

fn resizing(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    for key in ["crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias"] {
        fields.only(key, &[json!(false)])?;
    }
    // These say what padding is made of, and there is none.
    fields.skip(&["fill_mode", "fill_value"]);
    let (height, width) = (fields.count("height")?, fields.count("width")?);
    Ok(Resizing { height, width, interpolation: interpolation(fields, "bilinear")? }.into())
}
