//! Layers that make sequences and images larger or smaller.

use crate::keras::KerasError;
use crate::keras::fields::{Fields, as_pair};
use plimsoll_graph::op::Interpolation;
use plimsoll_model::Layer;
use plimsoll_model::layer::{
    Aspect, CenterCrop, Cropping1d, Cropping2d, Cropping3d, Resizing, UpSampling1d, UpSampling2d,
    UpSampling3d, ZeroPadding1d, ZeroPadding2d, ZeroPadding3d,
};
use serde_json::json;

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    Ok(match fields.class() {
        "ZeroPadding3D" => ZeroPadding3d { padding: borders(fields, "padding", 1)? }.into(),
        "Cropping3D" => Cropping3d { cropping: borders(fields, "cropping", 1)? }.into(),
        "UpSampling3D" => UpSampling3d { size: fields.triple("size")?.unwrap_or([2; 3]) }.into(),
        "ZeroPadding1D" => ZeroPadding1d { padding: fields.pair("padding")?.unwrap_or([1, 1]) }.into(),
        "ZeroPadding2D" => ZeroPadding2d { padding: margins(fields, "padding", 1)? }.into(),
        "Cropping1D" => Cropping1d { cropping: fields.pair("cropping")?.unwrap_or([1, 1]) }.into(),
        "Cropping2D" => Cropping2d { cropping: margins(fields, "cropping", 0)? }.into(),
        "UpSampling1D" => UpSampling1d { size: fields.single("size")?.unwrap_or(2) }.into(),
        "UpSampling2D" => up_sampling2d(fields)?,
        "CenterCrop" => CenterCrop { height: fields.count("height")?, width: fields.count("width")? }.into(),
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

/// Before and after along three axes: one number for all, one an axis, or all six.
fn borders(fields: &Fields<'_>, key: &str, default: usize) -> Result<[[usize; 2]; 3], KerasError> {
    let Some(value) = fields.get(key) else { return Ok([[default; 2]; 3]) };
    let borders = match value.as_array().map(Vec::as_slice) {
        Some([a, b, c]) => as_pair(a).zip(as_pair(b)).zip(as_pair(c)).map(|((a, b), c)| [a, b, c]),
        Some(_) => None,
        None => as_pair(value).map(|all| [all; 3]),
    };
    borders.ok_or_else(|| fields.problem(format!("{key}={value} is not three pairs of counts")))
}

fn up_sampling2d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let size = fields.pair("size")?.unwrap_or([2, 2]);
    Ok(UpSampling2d { size, interpolation: interpolation(fields, "nearest")? }.into())
}

fn interpolation(fields: &Fields<'_>, default: &'static str) -> Result<Interpolation, KerasError> {
    match fields.text("interpolation", default)? {
        "nearest" => Ok(Interpolation::Nearest),
        "bilinear" => Ok(Interpolation::Bilinear),
        "bicubic" => Ok(Interpolation::Bicubic),
        "lanczos3" => Ok(Interpolation::Lanczos3),
        "lanczos5" => Ok(Interpolation::Lanczos5),
        other => Err(fields.problem(format!("interpolation={other} is not supported"))),
    }
}

fn resizing(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("fill_mode", &[json!("constant")])?;
    let value = fields.number("fill_value", 0.0)? as f32;
    let (crop, pad) =
        (fields.flag("crop_to_aspect_ratio", false)?, fields.flag("pad_to_aspect_ratio", false)?);
    let resizing = Resizing {
        height: fields.count("height")?,
        width: fields.count("width")?,
        interpolation: interpolation(fields, "bilinear")?,
        antialias: fields.flag("antialias", false)?,
        aspect: match (crop, pad) {
            (true, _) => Aspect::Crop,
            (_, true) => Aspect::Pad(value),
            _ => Aspect::Stretch,
        },
    };
    Ok(resizing.into())
}
