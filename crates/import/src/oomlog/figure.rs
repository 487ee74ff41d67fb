//! Sizes as logs print them: some to the byte, some rounded to a few digits, some only as "at least so much".

use plimsoll_trace::Bytes;
use serde::Serialize;

/// A number of bytes and how well it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// The best that can be said.
    pub bytes: u64,
    /// The truth is at most so far away: what rounding took.
    pub slack: u64,
    /// Lines are missing, so it may be more.
    pub at_least: bool,
}

impl Figure {
    /// Known to the byte.
    pub fn exact(bytes: u64) -> Self {
        Self { bytes, slack: 0, at_least: false }
    }

    /// A lower bound.
    pub fn at_least(bytes: u64) -> Self {
        Self { bytes, slack: 0, at_least: true }
    }

    /// Whether it is known to the byte.
    pub fn is_exact(&self) -> bool {
        self.slack == 0 && !self.at_least
    }

    /// Whether another figure may be the same quantity.
    pub fn agrees(&self, other: u64) -> bool {
        self.bytes.abs_diff(other) <= self.slack || self.at_least && other >= self.bytes
    }

    /// The size as a quantity.
    pub fn size(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// The better known of two.
    pub fn better(self, other: Option<Figure>) -> Figure {
        match other {
            Some(other) if (other.at_least, other.slack) < (self.at_least, self.slack) => other,
            _ => self,
        }
    }

    /// The difference, with what both roundings took; nothing below zero.
    pub fn minus(self, other: Figure) -> Figure {
        Figure {
            bytes: self.bytes.saturating_sub(other.bytes),
            slack: self.slack.saturating_add(other.slack),
            at_least: false,
        }
    }

    /// The sum, with what both roundings took.
    pub fn plus(self, other: Figure) -> Figure {
        Figure {
            bytes: self.bytes.saturating_add(other.bytes),
            slack: self.slack.saturating_add(other.slack),
            at_least: self.at_least || other.at_least,
        }
    }
}

/// What no figure reaches: sums of a few stay far below 64 bits.
const MOST_BYTES: u64 = 1 << 60;
/// What no chunk and no region reaches: sums of all that are kept stay below 64 bits.
pub(crate) const LARGEST_CHUNK: u64 = 1 << 42;

/// The size of a chunk or region, and what follows it; none where no device has so much.
pub(crate) fn chunk_size(text: &[u8]) -> Option<(u64, &[u8])> {
    number(text).filter(|(bytes, _)| *bytes <= LARGEST_CHUNK)
}

/// The number at the start of some text, after spaces, and what follows it. None where there is none or it does not fit
/// in 64 bits.
pub(crate) fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let mut value = 0u64;
    for digit in &text[..end] {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    (end > 0).then_some((value, &text[end..]))
}

/// A hexadecimal number, with or without `0x`, and what follows it.
pub(crate) fn address(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    let end = text.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(text.len());
    if end == 0 || end > 16 {
        return None;
    }
    let value = text[..end].iter().fold(0, |value, &digit| value << 4 | u64::from(hexadecimal(digit)));
    Some((value, &text[end..]))
}

fn hexadecimal(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// A size such as `74.16MiB`, `1.39 GiB`, `529.00M`, `0 bytes` or `17179869312`, and what follows it. Frameworks mean
/// powers of two by every unit.
pub(crate) fn size(text: &[u8]) -> Option<(Figure, &[u8])> {
    let (whole, rest) = number(text)?;
    let (fraction, decimals, rest) = fraction(rest);
    let (factor, rest) = unit(rest);
    let ten = 10f64.powi(decimals);
    let bytes = (whole as f64 + fraction as f64 / ten) * factor as f64;
    if decimals == 0 {
        // Without a fraction the count may be more than a float holds.
        let exact = whole.checked_mul(factor).filter(|bytes| *bytes < MOST_BYTES)?;
        let slack = if factor == 1 { 0 } else { factor / 2 };
        return Some((Figure { bytes: exact, slack, at_least: false }, rest));
    }
    let slack = (factor as f64 / ten / 2.0).ceil() as u64;
    (bytes < MOST_BYTES as f64)
        .then_some((Figure { bytes: bytes.round() as u64, slack, at_least: false }, rest))
}

/// What stands after a point: its digits as a number, how many they are, and what follows.
fn fraction(text: &[u8]) -> (u64, i32, &[u8]) {
    let Some(digits) = text.strip_prefix(b".").filter(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    else {
        return (0, 0, text);
    };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let kept = end.min(9);
    let value = digits[..kept].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    (value, kept as i32, &digits[end..])
}

/// Longest names first, so that `MiB` is not read as `M`.
const UNITS: [(&[u8], u64); 15] = [
    (b"bytes", 1),
    (b"byte", 1),
    (b"KiB", 1 << 10),
    (b"MiB", 1 << 20),
    (b"GiB", 1 << 30),
    (b"TiB", 1 << 40),
    (b"KB", 1 << 10),
    (b"MB", 1 << 20),
    (b"GB", 1 << 30),
    (b"TB", 1 << 40),
    (b"K", 1 << 10),
    (b"M", 1 << 20),
    (b"G", 1 << 30),
    (b"T", 1 << 40),
    (b"B", 1),
];

fn unit(text: &[u8]) -> (u64, &[u8]) {
    let trimmed = text.trim_ascii_start();
    let found = UNITS.iter().find_map(|(name, factor)| {
        let rest = trimmed.strip_prefix(*name)?;
        // `12 Buffers` are no bytes.
        (!rest.first().is_some_and(u8::is_ascii_alphabetic)).then_some((*factor, rest))
    });
    found.unwrap_or((1, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_every_framework_prints_them() {
        let cases: [(&str, u64, u64, &str); 9] = [
            ("74.16MiB.  Current", 77_762_396, 5243, ".  Current"),
            ("1.39 GiB (GPU 0", 1_492_501_135, 5_368_710, " (GPU 0"),
            ("0 bytes is free", 0, 0, " is free"),
            ("529.00M (", 554_696_704, 5243, " ("),
            ("0B,", 0, 0, ","),
            ("17179869312 bytes.", 17_179_869_312, 0, "."),
            ("985.0KiB in", 1_008_640, 52, " in"),
            ("   360.00MiB", 377_487_360, 5243, ""),
            ("67 MB memory", 67 << 20, 1 << 19, " memory"),
        ];
        for (text, bytes, slack, rest) in cases {
            let expected = (Figure { bytes, slack, at_least: false }, rest.as_bytes());
            assert_eq!(size(text.as_bytes()), Some(expected), "{text}");
        }
        for text in ["", "MiB", "99999999999999999999", "17179869184.00GiB", "18446744073709551615", "-3B"] {
            assert_eq!(size(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn addresses_come_with_and_without_a_prefix() {
        assert_eq!(address(b" 0x905a40500 of"), Some((0x9_05a4_0500, &b" of"[..])));
        assert_eq!(address(b"7f925A000000 of"), Some((0x7f92_5a00_0000, &b" of"[..])));
        assert_eq!(address(b"xyz"), None);
        assert_eq!(address(b"00000000000000000"), None, "more than 64 bits");
    }
}
