//! IDX, the form of MNIST's files: two zeros, the element's type, the number of axes, the extents, the elements, all
//! with the high byte first. (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits".)

use super::{Array, Number};
use crate::{Blob, InputError};

/// No array has more axes.
const MOST_AXES: u8 = 8;

/// The array of an IDX file.
pub(crate) fn open(blob: Blob) -> Result<Array, InputError> {
    let mut head = [0; 4];
    blob.read(0, &mut head)?;
    let element = match head {
        [0, 0, 0x08, _] => Number::U8,
        [0, 0, 0x09, _] => Number::I8,
        [0, 0, 0x0b, _] => Number::I16,
        [0, 0, 0x0c, _] => Number::I32,
        [0, 0, 0x0d, _] => Number::F32,
        [0, 0, 0x0e, _] => Number::F64,
        _ => return Err(InputError::file(blob.path(), "it is no IDX file: its first bytes say no type")),
    };
    if !(1..=MOST_AXES).contains(&head[3]) {
        return Err(InputError::file(blob.path(), format!("it is no IDX file: it has {} axes", head[3])));
    }
    let mut shape = Vec::new();
    for axis in 0..u64::from(head[3]) {
        let mut extent = [0; 4];
        blob.read(4 + 4 * axis, &mut extent)?;
        shape.push(u32::from_be_bytes(extent) as usize);
    }
    let start = 4 + 4 * shape.len() as u64;
    let is_big_endian = element.bytes() > 1;
    let array = Array { blob, start, element, is_big_endian, shape };
    let row = array.row_bytes()?;
    let end = start + row * array.samples() as u64;
    match end == array.blob.length() {
        true => Ok(array),
        false => Err(InputError::file(
            array.blob.path(),
            format!("{} bytes follow the last element", array.blob.length() - end),
        )),
    }
}
