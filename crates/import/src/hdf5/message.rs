//! The messages of object headers that say what a group or dataset is (HDF5 File Format Specification 3.0, section
//! IV.A.2).

use super::text_heap::TextHeap;
use super::{Attribute, Number, UNDEFINED};

/// A message.
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) data: Vec<u8>,
}

fn message(kind: u8, parts: &[&[u8]]) -> Message {
    Message { kind, data: parts.concat() }
}

/// The extents of each axis; none for a single element.
pub(super) fn dataspace(extents: &[usize]) -> Message {
    message(0x01, &[&dataspace_bytes(extents)])
}

fn dataspace_bytes(extents: &[usize]) -> Vec<u8> {
    // Version 2, no largest extents, a single element or a simple space.
    let mut bytes = vec![2, extents.len() as u8, 0, u8::from(!extents.is_empty())];
    extents.iter().for_each(|&extent| bytes.extend((extent as u64).to_le_bytes()));
    bytes
}

/// A group whose links stand in its header.
pub(super) fn link_info() -> Message {
    let none = UNDEFINED.to_le_bytes();
    message(0x02, &[&[0, 0], &none, &none])
}

/// What an element is.
pub(super) fn datatype(number: Number) -> Message {
    let bytes: &[u8] = match number {
        // Class 1 of version 1: little-endian, the leading bit of the mantissa implied, the sign in bit 31; 4 bytes;
        // bits 0 to 31; the exponent 8 bits from 23, the mantissa 23 from 0; bias 127.
        Number::F32 => &[0x11, 0x20, 0x1f, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0],
        // Class 0 of version 1: little-endian, signed; 4 bytes; bits 0 to 31.
        Number::I32 => &[0x10, 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0],
        Number::I64 => &[0x10, 0x08, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0],
    };
    message(0x03, &[bytes])
}

/// Version 3: space is taken late, and there is no value that elements would start with.
pub(super) fn fill_value() -> Message {
    message(0x05, &[&[3, 0x0a]])
}

/// A name that leads to the object at an address.
pub(super) fn link(name: &str, address: u64) -> Message {
    // Version 1; the length of the name takes 4 bytes, and how it is written is said: UTF-8.
    let length = (name.len() as u32).to_le_bytes();
    message(0x06, &[&[1, 0x12, 1], &length, name.as_bytes(), &address.to_le_bytes()])
}

/// Version 3: a dataset in one piece.
pub(super) fn contiguous(address: u64, bytes: u64) -> Message {
    message(0x08, &[&[3, 1], &address.to_le_bytes(), &bytes.to_le_bytes()])
}

/// A group without wishes.
pub(super) fn group_info() -> Message {
    message(0x0a, &[&[0, 0]])
}

/// Texts, which lie in the heap.
pub(super) fn attribute(name: &str, value: &Attribute, heap: &TextHeap) -> Message {
    // Class 9 of version 1, texts of any length in UTF-8, which end with a zero; of elements of one byte that are
    // texts.
    const TEXTS: [u8; 16] = [0x19, 0x01, 0x01, 0, 16, 0, 0, 0, 0x13, 0x10, 0, 0, 1, 0, 0, 0];
    let space = match value {
        Attribute::Text(_) => dataspace_bytes(&[]),
        Attribute::Texts(texts) => dataspace_bytes(&[texts.len()]),
    };
    let places: Vec<u8> = value.texts().flat_map(|text| heap.place(text)).collect();
    let lengths = [name.len() + 1, TEXTS.len(), space.len()].map(|length| (length as u16).to_le_bytes());
    // Version 3; the name is UTF-8, too.
    message(0x0c, &[&[3, 0], &lengths.concat(), &[1], name.as_bytes(), &[0], &TEXTS, &space, &places])
}
