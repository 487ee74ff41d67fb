//! A trace as TensorBoard's event file: scalars of live MiB by role, at every op.
//!
//! The file is a sequence of TFRecords (length, its checksum, data, its checksum), each an `Event` protocol buffer.
//! TensorBoard's `step` is the op's number; its wall time is the trace's clock, in seconds since the recording began.
//! Scalars are float32, as TensorBoard's are.

use super::lives::Lives;
use super::unrolled::{Happening, Unrolled, event_of};
use plimsoll_trace::Trace;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// What a file name must contain for TensorBoard to find it.
pub const NAME: &str = "tfevents";

const MIB: f64 = (1u64 << 20) as f64;

/// Writes a trace; says how many repetitions of steps were left out.
pub fn write(trace: &Trace, out: &mut impl Write) -> Result<usize> {
    let unrolled = Unrolled::new(trace);
    write_record(out, &version())?;
    let mut lives = Lives::new(trace);
    // The most of each at the op that is being walked through.
    let mut most: BTreeMap<&str, u64> = BTreeMap::new();
    let lines = [("limit", trace.about.limit), ("plan's floor", trace.about.floor)];
    let lines = lines.map(|(name, bytes)| Some((name, bytes?.0)));
    let mut last = None;
    for (op, happening) in &unrolled.happenings {
        if last != Some(*op) {
            match last {
                Some(last) => write_scalars(out, &unrolled, last, &std::mem::take(&mut most))?,
                None => most.extend(lines.into_iter().flatten()),
            }
            // What is freed first in an op was live during it.
            most.extend(lives.now());
            last = Some(*op);
        }
        if let Happening::Reserved(bytes) = happening {
            most.insert("reserved", bytes.0);
        }
        let Some(event) = event_of(trace, *happening) else { continue };
        lives.apply(event);
        for (role, bytes) in lives.now() {
            let entry = most.entry(role).or_default();
            *entry = bytes.max(*entry);
        }
    }
    most.extend(lines.into_iter().flatten());
    write_scalars(out, &unrolled, last.unwrap_or(0), &most)?;
    Ok(unrolled.left_out)
}

fn write_scalars(
    out: &mut impl Write,
    unrolled: &Unrolled,
    op: u64,
    values: &BTreeMap<&str, u64>,
) -> Result<()> {
    write_record(out, &scalars(unrolled.microseconds(op) / 1e6, op, values))
}

/// The first event says which form the file has.
fn version() -> Vec<u8> {
    let mut event = vec![0x09];
    event.extend(0f64.to_le_bytes());
    put_bytes(&mut event, 3, b"brain.Event:2");
    event
}

/// An `Event` with a wall time (field 1), a step (2) and a summary (5) of scalars: tag (1) and simple value (2) each.
fn scalars(seconds: f64, step: u64, values: &BTreeMap<&str, u64>) -> Vec<u8> {
    let mut summary = Vec::new();
    for (name, bytes) in values {
        let mut value = Vec::new();
        put_bytes(&mut value, 1, format!("memory MiB/{name}").as_bytes());
        value.push(2 << 3 | 5);
        value.extend(((*bytes as f64 / MIB) as f32).to_le_bytes());
        put_bytes(&mut summary, 1, &value);
    }
    let mut event = vec![1 << 3 | 1];
    event.extend(seconds.to_le_bytes());
    event.push(2 << 3);
    put_number(&mut event, step);
    put_bytes(&mut event, 5, &summary);
    event
}

fn put_bytes(into: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    into.push(field << 3 | 2);
    put_number(into, bytes.len() as u64);
    into.extend(bytes);
}

fn put_number(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn write_record(out: &mut impl Write, data: &[u8]) -> Result<()> {
    let length = (data.len() as u64).to_le_bytes();
    out.write_all(&length)?;
    out.write_all(&masked(checksum(&length)).to_le_bytes())?;
    out.write_all(data)?;
    out.write_all(&masked(checksum(data)).to_le_bytes())
}

/// TFRecords mask their checksums, so that a checksum of data that contains one stays good.
fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli).
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ (sum >> 8))
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
        assert_eq!(checksum(&[0; 32]), 0x8a91_36aa);
        assert_eq!(checksum(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn a_record_an_op() {
        let trace = "trace 1\nlimit 1048576\nlabel \"a\" \"activation\" \"\" \"\"\n0 take 0 at 0 bytes 8 label 0\n0 take 1 at 8 bytes 8 label 0\n4 free 0\n";
        let mut bytes = Vec::new();
        assert_eq!(write(&text::parse(trace).unwrap(), &mut bytes).unwrap(), 0);
        let mut records = Vec::new();
        let mut rest = &bytes[..];
        while let Some((length, after)) = rest.split_first_chunk::<8>() {
            let length_of = u64::from_le_bytes(*length) as usize;
            assert_eq!(after[..4], masked(checksum(length)).to_le_bytes());
            let data = &after[4..][..length_of];
            assert_eq!(after[4 + length_of..][..4], masked(checksum(data)).to_le_bytes());
            records.push(data);
            rest = &after[8 + length_of..];
        }
        assert_eq!(records.len(), 3, "the version and two ops");
        assert!(records[0].ends_with(b"brain.Event:2"));
        let has = |record: &[u8], text: &[u8]| record.windows(text.len()).any(|window| window == text);
        assert!(has(records[1], b"memory MiB/activation") && has(records[1], b"memory MiB/limit"));
        let sixteen = (16.0f64 / MIB) as f32;
        assert!(has(records[1], &sixteen.to_le_bytes()), "both at once");
    }
}
