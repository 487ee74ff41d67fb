//! The wire form of protocol buffers, read field by field without a schema.
//!
//! The few messages we read need some ten fields; a library would bring a code generator and more code than this.

/// A field of a message: its number and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    /// A number, as it stands: 64 bits of any kind.
    Number(u64),
    /// Text, bytes or another message.
    Bytes(&'a [u8]),
}

/// Where bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no protocol buffer, or it is cut: a field breaks off or is of no known form")]
pub struct WireError;

/// The fields of a message, in order; after an error there are no more.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: message, failed: false }
    }

    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let key = self.number()?;
        let field = match key & 7 {
            0 => Field::Number(self.number()?),
            1 => Field::Number(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                Field::Bytes(self.bytes(length)?)
            }
            5 => Field::Number(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?).into()),
            _ => return None,
        };
        Some((key >> 3, field))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = u64::from(self.bytes(1)?[0]);
            // The highest bits of a tenth byte have no place; other readers drop them too.
            number |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.failed {
            return None;
        }
        let field = self.field();
        self.failed = field.is_none();
        Some(field.ok_or(WireError))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_broken_ones_are_errors() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0];
        let fields: Result<Vec<_>, _> = Fields::new(&message).collect();
        assert_eq!(
            fields.unwrap(),
            [(1, Field::Number(150)), (2, Field::Bytes(b"hi")), (3, Field::Number(1))]
        );
        for broken in [
            &[0x08][..],
            &[0x12, 3, 1],
            &[0x0b],
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ] {
            assert!(Fields::new(broken).any(|field| field.is_err()), "{broken:?}");
        }
    }
}
