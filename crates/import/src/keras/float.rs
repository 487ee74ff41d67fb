//! Floating-point elements of any type that Keras writes.

use half::{bf16, f16};
use hdf5_reader::error::{Error, Result};
use hdf5_reader::{ByteOrder, Datatype, H5Type};

/// An element of any floating-point type that Keras writes, as float32.
#[derive(Clone)]
pub(super) struct Float(pub(super) f32);

impl H5Type for Float {
    fn hdf5_type() -> Datatype {
        f32::hdf5_type()
    }

    fn from_bytes(bytes: &[u8], dtype: &Datatype) -> Result<Self> {
        match dtype {
            Datatype::FloatingPoint { size: 2, .. } => Ok(Self(f16::from_bits(half(bytes, dtype)?).to_f32())),
            Datatype::FloatingPoint { size: 8, .. } => Ok(Self(f64::from_bytes(bytes, dtype)? as f32)),
            // Keras writes bfloat16, which HDF5 does not have, as two bytes without a meaning.
            Datatype::Opaque { .. } => Ok(Self(bf16::from_bits(half(bytes, dtype)?).to_f32())),
            _ => Ok(Self(f32::from_bytes(bytes, dtype)?)),
        }
    }

    fn decode_vec(raw: &[u8], dtype: &Datatype, count: usize) -> Option<Result<Vec<Self>>> {
        let plain = f32::native_copy_compatible(dtype) && Some(raw.len()) == count.checked_mul(4);
        let floats = raw
            .chunks_exact(4)
            .map(|bytes| Self(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
        plain.then(|| Ok(floats.collect()))
    }

    fn element_size(dtype: &Datatype) -> usize {
        match dtype {
            Datatype::Opaque { .. } => 2,
            Datatype::FloatingPoint { size, .. } => usize::from(*size),
            _ => f32::element_size(dtype),
        }
    }
}

fn half(bytes: &[u8], dtype: &Datatype) -> Result<u16> {
    let pair = *bytes.first_chunk().ok_or(Error::InvalidData("an element is cut".to_string()))?;
    match dtype {
        Datatype::FloatingPoint { byte_order: ByteOrder::BigEndian, .. } => Ok(u16::from_be_bytes(pair)),
        _ => Ok(u16::from_le_bytes(pair)),
    }
}
