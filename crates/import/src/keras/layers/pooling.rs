//! Pooling of windows and of whole sequences or images.

use super::convolution::padding;
use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_graph::op::Pool;
use plimsoll_model::Layer;
use plimsoll_model::layer::{AdaptivePooling, GlobalPooling, Pooling1d, Pooling2d, Pooling3d};

pub(super) fn window(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let pool = if fields.class().starts_with("Max") { Pool::Max } else { Pool::Average };
    let padding = padding(fields)?;
    if fields.class().ends_with("1D") {
        let pool_size = fields.single("pool_size")?.unwrap_or(2);
        let strides = fields.single("strides")?.unwrap_or(pool_size);
        return Ok(Pooling1d { pool, pool_size, strides, padding }.into());
    }
    if fields.class().ends_with("3D") {
        let pool_size = fields.triple("pool_size")?.unwrap_or([2; 3]);
        let strides = fields.triple("strides")?.unwrap_or(pool_size);
        return Ok(Pooling3d { pool, pool_size, strides, padding }.into());
    }
    let pool_size = fields.pair("pool_size")?.unwrap_or([2, 2]);
    let strides = fields.pair("strides")?.unwrap_or(pool_size);
    Ok(Pooling2d { pool, pool_size, strides, padding }.into())
}

pub(super) fn adaptive(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let pool = if fields.class().starts_with("AdaptiveMax") { Pool::Max } else { Pool::Average };
    let missing = || fields.problem("`output_size` is missing");
    let output_size = match fields.class().chars().rev().nth(1) {
        Some('1') => vec![fields.single("output_size")?.ok_or_else(missing)?],
        Some('2') => fields.pair("output_size")?.ok_or_else(missing)?.to_vec(),
        _ => fields.triple("output_size")?.ok_or_else(missing)?.to_vec(),
    };
    Ok(AdaptivePooling { pool, output_size }.into())
}

pub(super) fn global(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let max = fields.class().starts_with("GlobalMax");
    let pooling = if max { GlobalPooling::max() } else { GlobalPooling::average() };
    Ok(GlobalPooling { keepdims: fields.flag("keepdims", false)?, ..pooling }.into())
}
