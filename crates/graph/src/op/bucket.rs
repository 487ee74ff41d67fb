//! Which of several buckets an element falls into.

use super::expect::{Inferred, ensure, floats, integers, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `x -> i32`, elementwise. Nothing is differentiated through it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// Of floats: how many of these ascending boundaries are at most the element.
    Boundaries(Vec<f32>),
    /// Of integers: what a table has for the element.
    Table {
        /// Elements, ascending, each with its bucket.
        entries: Vec<[i32; 2]>,
        /// The bucket of everything else.
        otherwise: Otherwise,
    },
    /// Of integers: a hash of the decimal digits.
    Hash(Hash),
}

/// The bucket of what a table does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// There is none: it is an error of the run.
    Nothing,
    /// Always the same.
    Fixed(i32),
    /// The element modulo so many, counted from a first bucket.
    Modulo {
        /// The first bucket.
        first: i32,
        /// How many there are.
        count: i32,
    },
    /// A hash of the element, counted from a first bucket.
    Hash {
        /// The first bucket.
        first: i32,
        /// The hash.
        hash: Hash,
    },
}

/// A hash of an integer's decimal digits, as TensorFlow computes it: FarmHash's 64-bit fingerprint, or SipHash-2-4
/// where there is a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash {
    /// How many buckets there are.
    pub count: u32,
    /// The key of SipHash.
    pub key: Option<[u64; 2]>,
}

impl Bucket {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        match self {
            Self::Boundaries(boundaries) => {
                floats(&[x])?;
                let ascending = boundaries.windows(2).all(|pair| pair[0] <= pair[1]);
                ensure(ascending, || "the boundaries do not ascend".to_string())?;
            }
            Self::Table { entries, otherwise } => {
                integers(x)?;
                let ascending = entries.windows(2).all(|pair| pair[0][0] < pair[1][0]);
                ensure(ascending, || "the elements of the table do not ascend".to_string())?;
                otherwise.check()?;
            }
            Self::Hash(hash) => {
                integers(x)?;
                hash.check()?;
            }
        }
        Ok(vec![TensorType::i32(x.shape.clone())])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}

impl Otherwise {
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Nothing | Self::Fixed(_) => Ok(()),
            Self::Modulo { count, .. } => ensure(*count > 0, || format!("there are {count} buckets")),
            Self::Hash { hash, .. } => hash.check(),
        }
    }
}

impl Hash {
    fn check(&self) -> Result<(), String> {
        let fits = (1..=i32::MAX as u32).contains(&self.count);
        ensure(fits, || format!("{} is no number of buckets", self.count))
    }
}
