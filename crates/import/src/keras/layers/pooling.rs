//! Pooling of windows and of whole sequences or images.

use super::convolution::{channels_last, padding};
use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_graph::op::Pool;
use plimsoll_model::Layer;
use plimsoll_model::layer::{GlobalPooling, Pooling1d, Pooling2d};

pub(super) fn window(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    channels_last(fields)?;
    let pool = if fields.class().starts_with("Max") { Pool::Max } else { Pool::Average };
    let padding = padding(fields)?;
    if fields.class().ends_with("1D") {
        let pool_size = fields.single("pool_size")?.unwrap_or(2);
        let strides = fields.single("strides")?.unwrap_or(pool_size);
        return Ok(Pooling1d { pool, pool_size, strides, padding }.into());
    }
    let pool_size = fields.pair("pool_size")?.unwrap_or([2, 2]);
    let strides = fields.pair("strides")?.unwrap_or(pool_size);
    Ok(Pooling2d { pool, pool_size, strides, padding }.into())
}

pub(super) fn global(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    channels_last(fields)?;
    let max = fields.class().starts_with("GlobalMax");
    let pooling = if max { GlobalPooling::max() } else { GlobalPooling::average() };
    Ok(GlobalPooling { keepdims: fields.flag("keepdims", false)?, ..pooling }.into())
}
