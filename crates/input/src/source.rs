//! Sources: samples by number, with columns as they are stored.

mod arrays;
pub(crate) mod folder;
pub(crate) mod idx;
mod image_list;
pub(crate) mod listing;
pub(crate) mod npy;
mod records;
mod table;
pub(crate) mod text;

pub use arrays::{Array, Arrays};
pub use folder::ImageFolder;
pub use image_list::ImageList;
pub use records::Records;
pub(crate) use records::copy;
pub use table::Table;
pub use text::{TextFolder, TextWindows};

use crate::image::Header;
use crate::{FieldKind, InputError, Room};

/// Samples by number. Several threads read at once, each with a room of its own.
pub trait Source: Send + Sync {
    /// How many samples there are.
    fn count(&self) -> usize;

    /// What each sample has.
    fn columns(&self) -> &[Column];

    /// Reads a column of a sample; bytes go into the room.
    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError>;

    /// Where a sample comes from, for people.
    fn place(&self, sample: usize) -> String;

    /// The class of a sample, if it has one.
    fn class(&self, sample: usize, room: &mut Room) -> Result<Option<usize>, InputError> {
        let is_target = |column: &Column| column.role == Some(FieldKind::Target);
        let Some(column) = self.columns().iter().position(is_target) else { return Ok(None) };
        let content = &self.columns()[column].content;
        match (self.read(sample, column, room)?, content) {
            (Datum::Class(class), _) => Ok(Some(class)),
            (Datum::Value(value), _) => Ok(whole(value)),
            (Datum::Numbers(bytes), Content::Numbers(numbers)) if numbers.elements() == 1 => {
                Ok(whole(numbers.element.value(&room.file[..bytes])))
            }
            _ => Ok(None),
        }
    }
}

/// One thing that every sample has.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// What it seems to be for.
    pub role: Option<FieldKind>,
    /// What is in it.
    pub content: Content,
}

/// What is in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Images of any size.
    Images(Images),
    /// So many numbers in each sample.
    Numbers(Numbers),
    /// One of these.
    Class(Vec<String>),
    /// Texts that are no numbers, too many to be classes.
    Text,
    /// Text as numbers of tokens.
    Tokens(TokenRange),
}

/// Which tokens texts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRange {
    /// One more than the largest number of a token.
    pub below: usize,
    /// How many tokens each sample has, where all have as many.
    pub window: Option<usize>,
    /// How many bytes the longest text has, where each is a file.
    pub longest: u64,
}

/// Images as they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// The one that takes most memory to decode, and how many bytes the largest file has.
    pub worst: Option<(Header, u64)>,
    /// The smallest and the largest width and height.
    pub sides: Option<[(u32, u32); 2]>,
    /// How many have 1, 2, 3 and 4 channels.
    pub channels: [usize; 4],
    /// How many have 16 bits a channel.
    pub deep: usize,
    /// How many are to be turned.
    pub turned: usize,
}

/// Numbers of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// How each is stored.
    pub element: Number,
    /// The shape in one sample.
    pub shape: Vec<usize>,
    /// The smallest and the largest, where somebody has looked.
    pub range: Option<(f64, f64)>,
    /// Whether all are whole, where somebody has looked.
    pub whole: Option<bool>,
}

/// How a number is stored; the low byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // they are what they are called
pub enum Number {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum {
    /// An image file: so many bytes at the beginning of the room's file buffer.
    Image(usize),
    /// Numbers: so many bytes at the beginning of the room's file buffer.
    Numbers(usize),
    /// One number.
    Value(f64),
    /// A class.
    Class(usize),
}

impl Column {
    /// A column for a purpose.
    pub fn new(name: impl Into<String>, role: Option<FieldKind>, content: Content) -> Self {
        Self { name: name.into(), role, content }
    }
}

impl Numbers {
    /// Numbers that nobody has looked at.
    pub fn new(element: Number, shape: Vec<usize>) -> Self {
        Self { element, shape, range: None, whole: None }
    }

    /// How many there are in a sample.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Number {
    /// How many bytes it takes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The number that the first bytes are. (A large u64 or i64 is the nearest double.)
    ///
    /// # Panics
    /// If there are fewer.
    pub fn value(self, bytes: &[u8]) -> f64 {
        fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes[..N].try_into().expect("as many bytes")
        }
        match self {
            Self::Bool => f64::from(u8::from(bytes[0] != 0)),
            Self::U8 => f64::from(bytes[0]),
            Self::I8 => f64::from(bytes[0] as i8),
            Self::U16 => f64::from(u16::from_le_bytes(first(bytes))),
            Self::I16 => f64::from(i16::from_le_bytes(first(bytes))),
            Self::U32 => f64::from(u32::from_le_bytes(first(bytes))),
            Self::I32 => f64::from(i32::from_le_bytes(first(bytes))),
            Self::U64 => u64::from_le_bytes(first(bytes)) as f64,
            Self::I64 => i64::from_le_bytes(first(bytes)) as f64,
            Self::F16 => half(u16::from_le_bytes(first(bytes))),
            Self::F32 => f64::from(f32::from_le_bytes(first(bytes))),
            Self::F64 => f64::from_le_bytes(first(bytes)),
        }
    }
}

/// A number that counts something, if it does.
pub(crate) fn whole(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0 && value < 1e15).then_some(value as usize)
}

/// A half-precision number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_their_bytes_say() {
        assert_eq!(Number::F16.value(&0x3c00u16.to_le_bytes()), 1.0);
        assert_eq!(Number::F16.value(&0xc500u16.to_le_bytes()), -5.0);
        assert_eq!(Number::F16.value(&1u16.to_le_bytes()), 2f64.powi(-24));
        assert_eq!(Number::I16.value(&(-3i16).to_le_bytes()), -3.0);
        assert_eq!(Number::I64.value(&(-1i64).to_le_bytes()), -1.0);
        assert_eq!((whole(3.0), whole(-1.0), whole(0.5), whole(f64::NAN)), (Some(3), None, None, None));
    }
}
