//! `tf.train.Example`, read by hand: a message with a map from names to lists of bytes, floats or integers.

use std::fmt;
use std::ops::Range;

/// What the list of a name has.
#[derive(Debug, PartialEq)]
pub(super) enum Found<'a> {
    /// The first of some byte strings.
    Bytes(&'a [u8]),
    /// So many floats.
    Floats(usize),
    /// So many integers.
    Integers(usize),
    /// An empty list.
    Nothing,
}

/// What was moved to the beginning of a buffer, with the low byte first.
#[derive(Debug, PartialEq)]
pub(super) enum List {
    /// So many bytes.
    Bytes(usize),
    /// So many floats.
    Floats(usize),
    /// So many integers.
    Integers(usize),
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(count) => write!(f, "{count} bytes"),
            Self::Floats(count) => write!(f, "{count} floats"),
            Self::Integers(count) => write!(f, "{count} integers"),
        }
    }
}

/// The names of a record and what they have.
pub(super) fn features(record: &[u8]) -> Result<Vec<(String, Found<'_>)>, String> {
    let mut found = Vec::new();
    each_feature(record, &mut |name, feature| {
        let name = String::from_utf8_lossy(name).into_owned();
        found.push((name, feature));
    })?;
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let looked = |(name, feature): (String, Range<usize>)| Ok((name, look(record, feature)?));
    found.into_iter().map(looked).collect()
}

/// Moves the list of a name to the beginning of the buffer that has the record, and has room for it behind.
pub(super) fn find(buffer: &mut [u8], size: usize, name: &str) -> Result<Option<List>, String> {
    let mut place = None;
    let record = &buffer[..size];
    each_feature(record, &mut |found, feature| {
        if found == name.as_bytes() {
            place = Some(feature);
        }
    })?;
    let Some((kind, list)) = place.map(|feature| list_of(record, feature)).transpose()?.flatten() else {
        return Ok(None);
    };
    match kind {
        BYTES => {
            let Some(first) = bytes_of(record, list)?.first().cloned() else { return Ok(None) };
            buffer.copy_within(first.clone(), 0);
            Ok(Some(List::Bytes(first.len())))
        }
        FLOATS => {
            let floats = floats_of(record, list)?;
            let room = buffer
                .get_mut(..4 * floats.len())
                .ok_or("the list is longer than that of the first record")?;
            room.chunks_exact_mut(4)
                .zip(&floats)
                .for_each(|(into, float)| into.copy_from_slice(&float.to_le_bytes()));
            Ok(Some(List::Floats(floats.len())))
        }
        _ => {
            let integers = integers_of(record, list)?;
            let room = buffer
                .get_mut(..8 * integers.len())
                .ok_or("the list is longer than that of the first record")?;
            let pairs = room.chunks_exact_mut(8).zip(&integers);
            pairs.for_each(|(into, integer)| into.copy_from_slice(&integer.to_le_bytes()));
            Ok(Some(List::Integers(integers.len())))
        }
    }
}

/// The kinds of lists, as the numbers of their fields.
const BYTES: u64 = 1;
const FLOATS: u64 = 2;

fn look(record: &[u8], feature: Range<usize>) -> Result<Found<'_>, String> {
    let Some((kind, list)) = list_of(record, feature)? else { return Ok(Found::Nothing) };
    Ok(match kind {
        BYTES => bytes_of(record, list)?
            .first()
            .map_or(Found::Nothing, |first| Found::Bytes(&record[first.clone()])),
        FLOATS => Found::Floats(floats_of(record, list)?.len()),
        _ => Found::Integers(integers_of(record, list)?.len()),
    })
}

/// The list of a feature and its kind.
fn list_of(record: &[u8], feature: Range<usize>) -> Result<Option<(u64, Range<usize>)>, String> {
    let mut found = None;
    each_field(record, feature, &mut |number, value| {
        if let (1..=3, Value::Bytes(list)) = (number, value) {
            found = Some((number, list));
        }
    })?;
    Ok(found)
}

fn bytes_of(record: &[u8], list: Range<usize>) -> Result<Vec<Range<usize>>, String> {
    let mut found = Vec::new();
    each_field(record, list, &mut |number, value| {
        if let (1, Value::Bytes(bytes)) = (number, value) {
            found.push(bytes);
        }
    })?;
    Ok(found)
}

fn floats_of(record: &[u8], list: Range<usize>) -> Result<Vec<f32>, String> {
    let mut found = Vec::new();
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    each_field(record, list, &mut |number, value| match (number, value) {
        (1, Value::Bytes(packed)) => found.extend(record[packed].chunks_exact(4).map(float)),
        (1, Value::Four(at)) => found.push(float(&record[at..at + 4])),
        _ => {}
    })?;
    Ok(found)
}

fn integers_of(record: &[u8], list: Range<usize>) -> Result<Vec<i64>, String> {
    let mut found = Vec::new();
    let mut problem = None;
    each_field(record, list, &mut |number, value| match (number, value) {
        (1, Value::Number(integer)) => found.push(integer as i64),
        (1, Value::Bytes(packed)) => {
            let mut at = packed.start;
            while at < packed.end && problem.is_none() {
                match varint(record, &mut at, packed.end) {
                    Ok(integer) => found.push(integer as i64),
                    Err(error) => problem = Some(error),
                }
            }
        }
        _ => {}
    })?;
    problem.map_or(Ok(found), Err)
}

/// Names and where their features are.
fn each_feature(record: &[u8], work: &mut dyn FnMut(&[u8], Range<usize>)) -> Result<(), String> {
    let mut maps = Vec::new();
    each_field(record, 0..record.len(), &mut |number, value| {
        if let (1, Value::Bytes(features)) = (number, value) {
            maps.push(features);
        }
    })?;
    let mut entries = Vec::new();
    for features in maps {
        each_field(record, features, &mut |number, value| {
            if let (1, Value::Bytes(entry)) = (number, value) {
                entries.push(entry);
            }
        })?;
    }
    for entry in entries {
        let (mut name, mut feature) = (0..0, None);
        each_field(record, entry, &mut |number, value| match (number, value) {
            (1, Value::Bytes(found)) => name = found,
            (2, Value::Bytes(found)) => feature = Some(found),
            _ => {}
        })?;
        if let Some(feature) = feature {
            work(&record[name], feature);
        }
    }
    Ok(())
}

/// The value of a field; ranges and places are in the record.
enum Value {
    Number(u64),
    Bytes(Range<usize>),
    Four(usize),
    Eight,
}

fn each_field(record: &[u8], within: Range<usize>, work: &mut dyn FnMut(u64, Value)) -> Result<(), String> {
    let damaged = || "the record is no tf.train.Example".to_string();
    let mut at = within.start;
    while at < within.end {
        let key = varint(record, &mut at, within.end)?;
        let fixed = |at: &mut usize, size: usize| {
            let start = *at;
            *at = start.checked_add(size).filter(|end| *end <= within.end).ok_or_else(damaged)?;
            Ok::<usize, String>(start)
        };
        let value = match key & 7 {
            0 => Value::Number(varint(record, &mut at, within.end)?),
            1 => fixed(&mut at, 8).map(|_| Value::Eight)?,
            2 => {
                let length = usize::try_from(varint(record, &mut at, within.end)?).map_err(|_| damaged())?;
                let start = fixed(&mut at, length)?;
                Value::Bytes(start..start + length)
            }
            5 => Value::Four(fixed(&mut at, 4)?),
            _ => return Err(damaged()),
        };
        work(key >> 3, value);
    }
    Ok(())
}

fn varint(record: &[u8], at: &mut usize, end: usize) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *record[..end].get(*at).ok_or("the record is cut off")?;
        *at += 1;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Ok(value);
        }
    }
    Err("the record is no tf.train.Example".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"x": [1.5, 2.0], "y": [-1]}`, as TensorFlow writes it.
    const RECORD: &[u8] = b"\n\x28\n\x11\n\x01x\x12\x0c\x12\n\n\x08\0\0\xc0\x3f\0\0\0\x40\n\x13\n\x01y\x12\x0e\x1a\x0c\n\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";

    #[test]
    fn lists_are_found_by_name() {
        let names = features(RECORD).unwrap();
        assert_eq!(names, [("x".to_string(), Found::Floats(2)), ("y".to_string(), Found::Integers(1))]);
        let mut buffer = RECORD.to_vec();
        assert_eq!(find(&mut buffer, RECORD.len(), "x").unwrap(), Some(List::Floats(2)));
        assert_eq!(buffer[..8], [1.5f32.to_le_bytes(), 2f32.to_le_bytes()].concat());
        let mut buffer = RECORD.to_vec();
        assert_eq!(find(&mut buffer, RECORD.len(), "y").unwrap(), Some(List::Integers(1)));
        assert_eq!(buffer[..8], [0xff; 8]);
        assert_eq!(find(&mut RECORD.to_vec(), RECORD.len(), "z").unwrap(), None);
    }

    #[test]
    fn damaged_records_are_refused() {
        for end in 1..RECORD.len() {
            assert!(features(&RECORD[..end]).is_err(), "{end}");
        }
    }
}
