//! Integers in few buckets, by a hash.

use super::category_encoding::integers;
use super::{Context, Encoding, Lowered, Signal};
use plimsoll_graph::op::{Binary, Bucket, Cast, Hash, NotEqual, Unary};
use plimsoll_graph::{ElementType, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// The bucket of each integer's digits, by FarmHash or, with a salt, by SipHash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashing {
    /// How many buckets there are.
    pub num_bins: u32,
    /// What goes to bucket 0, which nothing else goes to then.
    pub mask_value: Option<i32>,
    /// The key of SipHash.
    pub salt: Option<[u64; 2]>,
    /// What is made of the buckets.
    pub output_mode: Encoding,
}

impl Hashing {
    pub(super) fn kind(&self) -> &'static str {
        "hashing"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let ids = integers(at, x.value)?;
        let masked = self.mask_value.filter(|_| self.num_bins > 1);
        let hash = Hash { count: self.num_bins - u32::from(masked.is_some()), key: self.salt };
        let hashed = at.op(Bucket::Hash(hash), &[ids])?;
        let buckets = match masked {
            Some(value) => shifted(at, ids, hashed, value)?,
            None => hashed,
        };
        self.output_mode.apply(at, buckets, self.num_bins as usize)
    }
}

/// 0 for the masked value, and 1 more than before for everything else. Buckets are few enough for floats.
fn shifted(at: &mut Context<'_>, ids: ValueId, hashed: ValueId, value: i32) -> Result<ValueId, ShapeError> {
    let other = at.op(NotEqual { value }, &[ids])?;
    let hashed = at.float(hashed)?;
    let next = at.op(Unary::AddScalar(1.0), &[hashed])?;
    let kept = at.op(Binary::Multiply, &[next, other])?;
    at.op(Cast { to: ElementType::I32 }, &[kept])
}
