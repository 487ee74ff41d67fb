//! Pixels in another range.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Unary};
use serde::{Deserialize, Serialize};

/// `x scale + offset`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rescaling {
    /// One factor for all, or one a channel.
    pub scale: Vec<f32>,
    /// What is added after it, for all or a channel.
    pub offset: Vec<f32>,
}

impl Rescaling {
    /// The same for all channels.
    pub fn new(scale: f32, offset: f32) -> Self {
        Self { scale: vec![scale], offset: vec![offset] }
    }

    pub(super) fn kind(&self) -> &'static str {
        "rescaling"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let x = x.with(at.float(x.value)?);
        let scaled = match self.scale[..] {
            [scale] => at.op(Unary::MultiplyScalar(scale), &[x.value])?,
            _ => {
                let scale = at.constant(&self.scale)?;
                at.op(Binary::Multiply, &[x.value, scale])?
            }
        };
        match self.offset[..] {
            [0.0] => Ok(x.with(scaled)),
            [offset] => Ok(x.with(at.op(Unary::AddScalar(offset), &[scaled])?)),
            _ => {
                let offset = at.constant(&self.offset)?;
                Ok(x.with(at.op(Binary::Add, &[scaled, offset])?))
            }
        }
    }
}
