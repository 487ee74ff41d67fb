//! Buckets, from their definition.

use super::{Meaning, Tensor};
use crate::digits;
use plimsoll_graph::op::{Bucket, Otherwise};

impl Meaning for Bucket {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let bucket = |x: f64| match self {
            Self::Boundaries(boundaries) => {
                boundaries.iter().filter(|&&boundary| f64::from(boundary) <= x || x.is_nan()).count() as f64
            }
            Self::Table { entries, otherwise } => {
                let found = entries.iter().find(|entry| f64::from(entry[0]) == x);
                found.map_or_else(|| other(otherwise, x), |entry| f64::from(entry[1]))
            }
            Self::Hash(hash) => f64::from(digits::bucket(hash, x as i32)),
        };
        vec![inputs[0].data.iter().map(|&x| bucket(x)).collect()]
    }
}

fn other(otherwise: &Otherwise, x: f64) -> f64 {
    match otherwise {
        Otherwise::Nothing => panic!("{x} has no bucket"),
        Otherwise::Fixed(bucket) => f64::from(*bucket),
        Otherwise::Modulo { first, count } => f64::from(*first) + x.rem_euclid(f64::from(*count)),
        Otherwise::Hash { first, hash } => f64::from(first + digits::bucket(hash, x as i32)),
    }
}
