//! Quantities of memory as types. Arithmetic is checked: a sum that does not fit is a bug, not a number.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A number of bytes; prints as `1.21 GiB`, parses `512MiB`, `2GB`, `1.5GiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A position in an arena or address range, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(pub u64);

/// What offsets are multiples of; a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Alignment(u64);

/// A size that nobody can make sense of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a size: {problem}")]
pub struct SizeError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Unit names and their factors; a bare letter is binary, as in `docker -m 2g` and the tools of GPU makers.
const UNITS: [(&str, u64); 16] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tb", 1_000_000_000_000),
    ("tib", 1 << 40),
    ("byte", 1),
    ("bytes", 1),
];

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// So many mebibytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// The difference, or nothing where the other is larger.
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// Rounded up to a multiple of the alignment.
    pub fn aligned(self, alignment: Alignment) -> Bytes {
        Bytes(self.0.checked_next_multiple_of(alignment.0).expect("the size fits in 64 bits"))
    }

    /// As an index into host memory.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).expect("the size fits the address space")
    }
}

impl Offset {
    /// The start of an arena.
    pub const START: Offset = Offset(0);

    /// As an index into host memory.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).expect("the offset fits the address space")
    }

    /// How many bytes lie before it.
    pub fn distance(self) -> Bytes {
        Bytes(self.0)
    }

    /// Whether it is a multiple of the alignment.
    pub fn is_aligned(self, alignment: Alignment) -> bool {
        self.0.is_multiple_of(alignment.0)
    }
}

impl Alignment {
    /// A cache line, and what the widest vector instructions want.
    pub const CACHE_LINE: Alignment = Alignment(64);

    /// The alignment as a number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Alignment {
    type Error = String;

    fn try_from(bytes: u64) -> Result<Self, String> {
        match bytes.is_power_of_two() {
            true => Ok(Self(bytes)),
            false => Err(format!("an alignment is a power of two, not {bytes}")),
        }
    }
}

impl From<Alignment> for u64 {
    fn from(alignment: Alignment) -> u64 {
        alignment.0
    }
}

impl Add for Bytes {
    type Output = Bytes;

    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.checked_add(other.0).expect("the sum of sizes fits in 64 bits"))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;

    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.checked_sub(other.0).expect("a size is not negative"))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(sizes: I) -> Bytes {
        sizes.fold(Bytes::ZERO, Add::add)
    }
}

impl Add<Bytes> for Offset {
    type Output = Offset;

    fn add(self, bytes: Bytes) -> Offset {
        Offset(self.0.checked_add(bytes.0).expect("the offset fits in 64 bits"))
    }
}

impl fmt::Display for Bytes {
    /// Three significant digits in the largest binary unit that leaves at least 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "B";
        // 1023.5 would round to a four-digit 1024, so the next unit begins there.
        for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
            if value < 1023.5 {
                break;
            }
            value /= 1024.0;
            unit = larger;
        }
        let text = match unit {
            "B" => format!("{value} B"),
            _ if value < 9.995 => format!("{value:.2} {unit}"),
            _ if value < 99.95 => format!("{value:.1} {unit}"),
            _ => format!("{value:.0} {unit}"),
        };
        f.pad(&text)
    }
}

impl FromStr for Bytes {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let wrong = |problem: String| SizeError { text: text.to_string(), problem };
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = (&trimmed[..end], trimmed[end..].trim().to_ascii_lowercase());
        if number.is_empty() {
            return Err(wrong("it does not begin with a number".to_string()));
        }
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let factor = factor.ok_or_else(|| wrong(format!("`{unit}` is no unit of memory")))?;
        let value = number.parse::<f64>().map_err(|_| wrong(format!("`{number}` is no number")))?;
        let bytes = value * factor as f64;
        // Above 2^53 a float no longer holds every byte, and no device is that large.
        match bytes < (1u64 << 53) as f64 {
            true => Ok(Bytes(bytes.round() as u64)),
            false => Err(wrong("no device has that much memory".to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_with_three_digits() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1_300_234, "1.24 MiB"),
            (10 << 20, "10.0 MiB"),
            (969 << 20, "969 MiB"),
            ((1 << 30) - 1, "1.00 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn sizes_parse_as_people_write_them() {
        let cases = [
            ("512MiB", 512 << 20),
            ("2GB", 2_000_000_000),
            ("1.5GiB", 3 << 29),
            ("8 mib", 8 << 20),
            ("4096", 4096),
            ("2g", 2 << 30),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["8 bananas", "", "MiB", "-5MiB", "1.2.3GiB", "999999999TiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        let error = "8 bananas".parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(error, "`8 bananas` is not a size: `bananas` is no unit of memory");
    }

    #[test]
    fn rounding_up() {
        assert_eq!(Bytes(65).aligned(Alignment::CACHE_LINE), Bytes(128));
        assert_eq!(Bytes(64).aligned(Alignment::CACHE_LINE), Bytes(64));
        assert!(Alignment::try_from(48).is_err());
    }
}
