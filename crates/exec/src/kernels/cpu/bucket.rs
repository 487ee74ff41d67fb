//! The CPU kernel of buckets.

use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use crate::digits::bucket;
use plimsoll_graph::op::{Bucket, Otherwise};
use rayon::prelude::*;

impl CpuKernel for Bucket {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        match self {
            Self::Boundaries(boundaries) => {
                // Nothing is at most a NaN; as in TensorFlow, a NaN lies behind all boundaries.
                let place = |x: f32| boundaries.partition_point(|&boundary| boundary <= x || x.is_nan());
                map(x.f32(), y.i32(), |x| place(x) as i32);
            }
            Self::Table { entries, otherwise } => {
                if *otherwise == Otherwise::Nothing {
                    check(x.i32(), entries)?;
                }
                map(x.i32(), y.i32(), |x| match find(entries, x) {
                    Some(found) => found,
                    None => other(otherwise, x),
                });
            }
            Self::Hash(hash) => map(x.i32(), y.i32(), |x| bucket(hash, x)),
        }
        Ok(())
    }
}

fn map<T: Copy + Sync>(x: &[T], y: &mut [i32], f: impl Fn(T) -> i32 + Sync) {
    y.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE)).for_each(|(y, x)| {
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = f(x));
    });
}

fn find(entries: &[[i32; 2]], element: i32) -> Option<i32> {
    entries.binary_search_by_key(&element, |entry| entry[0]).ok().map(|at| entries[at][1])
}

fn other(otherwise: &Otherwise, element: i32) -> i32 {
    match otherwise {
        Otherwise::Nothing => unreachable!("every element was checked"),
        Otherwise::Fixed(bucket) => *bucket,
        Otherwise::Modulo { first, count } => first + element.rem_euclid(*count),
        Otherwise::Hash { first, hash } => first + bucket(hash, element),
    }
}

fn check(x: &[i32], entries: &[[i32; 2]]) -> Result<(), KernelError> {
    match x.iter().find(|&&x| find(entries, x).is_none()) {
        Some(&x) => {
            Err(KernelError::IndexOutOfRange { op: "bucket", index: i64::from(x), limit: entries.len() })
        }
        None => Ok(()),
    }
}
