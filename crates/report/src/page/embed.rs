//! Exhibits as the JSON that a page carries: texts once, numbers as base64 of variable-length integers.
//!
//! A column is `{"count": n, "delta": 0|1, "unit": u, "data": base64}`. The bytes are LEB128 integers, seven bits each,
//! the lowest first. Without `delta` they are the values divided by `unit`; with it, differences to the one before,
//! zigzag (0, -1, 1, -2, ...). What is shorter is taken.

use crate::exhibit::{Buffer, Exhibit, Figures, Kept, LARGEST, ROLES, quiet};
use serde_json::{Value, json};

/// The roles in the order in which charts stack them: how each is called and its colour.
pub(super) fn roles() -> Value {
    ROLES.iter().map(|role| json!({"role": role.role, "name": role.name, "colour": role.colour})).collect()
}

/// One exhibit.
pub(super) fn exhibit(exhibit: &Exhibit) -> Value {
    let figures = Figures::of(exhibit);
    let of = |number: fn(&Buffer) -> u64| column(&exhibit.buffers.iter().map(number).collect::<Vec<_>>());
    let reads = exhibit.buffers.iter().map(|buffer| reads(buffer.kept));
    let (why, last): (Vec<u64>, Vec<u64>) = reads.unzip();
    let reserved: Vec<_> = exhibit.reserved.iter().map(|(tick, bytes)| json!([tick, bytes])).collect();
    json!({
        "name": exhibit.name,
        "headline": exhibit.headline,
        "unit": exhibit.clock.unit(),
        "ticks": exhibit.ticks,
        "peak": figures.peak,
        "reported": exhibit.reported,
        "floor": figures.floor,
        "floorTick": figures.floor_tick,
        "length": exhibit.length(),
        "quiet": quiet(exhibit, &figures).iter().map(|stretch| json!([stretch.start, stretch.end])).collect::<Vec<_>>(),
        "limit": exhibit.limit.filter(|limit| limit.0 <= LARGEST),
        "reserved": reserved,
        "marks": exhibit.marks,
        "notes": exhibit.notes,
        "texts": exhibit.texts.list(),
        "times": column(&exhibit.times.iter().map(|&time| time.into()).collect::<Vec<_>>()),
        "ops": {
            "op": column(&exhibit.ops.iter().map(|doing| doing.op.0.into()).collect::<Vec<_>>()),
            "layer": column(&exhibit.ops.iter().map(|doing| doing.layer.0.into()).collect::<Vec<_>>()),
        },
        "buffers": {
            "start": of(|buffer| buffer.live.start.into()),
            "life": of(|buffer| (buffer.live.end - buffer.live.start).into()),
            "offset": of(|buffer| buffer.offset.0),
            "bytes": of(|buffer| buffer.bytes.0),
            "value": of(|buffer| buffer.value.0.into()),
            "role": of(|buffer| buffer.role.0.into()),
            "layer": of(|buffer| buffer.layer.0.into()),
            "op": of(|buffer| buffer.op.0.into()),
            "again": of(|buffer| buffer.again.into()),
            "why": column(&why),
            "last": column(&last),
        },
    })
}

/// Why a buffer is kept, as two numbers: 0 nobody says, 1 across steps, 2 for the caller, 3 scratch, 4 + how many ops
/// read it; and the last of these.
fn reads(kept: Kept) -> (u64, u64) {
    match kept {
        Kept::Unknown => (0, 0),
        Kept::AcrossSteps => (1, 0),
        Kept::ForCaller => (2, 0),
        Kept::Scratch => (3, 0),
        Kept::Read { count, last } => (4 + u64::from(count), last.into()),
    }
}

fn column(values: &[u64]) -> Value {
    // What all values are multiples of, as far as it is a power of two.
    let unit = 1u64 << values.iter().fold(0u64, |all, value| all | value).trailing_zeros().min(30);
    let unit = if values.iter().all(|&value| value == 0) { 1 } else { unit };
    let (mut plain, mut deltas) = (Vec::new(), Vec::new());
    let mut before = 0i64;
    for &value in values {
        let value = (value / unit) as i64;
        push(&mut plain, value as u64);
        let delta = value - before;
        push(&mut deltas, ((delta << 1) ^ (delta >> 63)) as u64);
        before = value;
    }
    let delta = deltas.len() < plain.len();
    let data = base64(if delta { &deltas } else { &plain });
    json!({"count": values.len(), "unit": unit, "delta": u8::from(delta), "data": data})
}

fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..4 {
            let is_there = letter <= three.len();
            let index = (bits >> (18 - 6 * letter)) & 63;
            text.push(if is_there { char::from(LETTERS[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, coded) in cases {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    #[test]
    fn columns_take_the_shorter_form() {
        let rising = column(&[1 << 20, (1 << 20) + 64, (1 << 20) + 128]);
        assert_eq!((&rising["delta"], &rising["unit"]), (&json!(1), &json!(64)));
        let jumping = column(&[1, 100, 2, 99]);
        assert_eq!(
            (&jumping["delta"], &jumping["unit"], &jumping["data"]),
            (&json!(0), &json!(1), &json!("AWQCYw=="))
        );
        assert_eq!(column(&[0, 0])["data"], json!("AAA="));
        assert_eq!(column(&[])["count"], json!(0));
    }
}
