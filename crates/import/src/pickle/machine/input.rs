//! What instructions carry: numbers, texts and lines, each of bounded length.

use super::{Machine, Step};
use crate::pickle::{LONGEST_TEXT, PickleError, Value};
use std::io::{BufRead, Read};

impl<R: Read> Machine<R> {
    pub(super) fn byte(&mut self) -> Step<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn array<const N: usize>(&mut self) -> Step<[u8; N]> {
        let mut bytes = [0; N];
        let at = self.at;
        self.input.read_exact(&mut bytes).map_err(|error| PickleError::Broken { at, error })?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// A length of so many bytes, then the content.
    pub(super) fn content(&mut self, width: usize) -> Step<Vec<u8>> {
        let mut length = [0; 8];
        for byte in &mut length[..width] {
            *byte = self.byte()?;
        }
        let length = u64::from_le_bytes(length);
        if length > LONGEST_TEXT {
            return Err(PickleError::TooLarge);
        }
        let (mut bytes, at) = (Vec::new(), self.at);
        let read = (&mut self.input).take(length).read_to_end(&mut bytes);
        let read = read.map_err(|error| PickleError::Broken { at, error })?;
        self.at += read as u64;
        match read as u64 == length {
            true => Ok(bytes),
            false => {
                Err(PickleError::Broken { at: self.at, error: std::io::ErrorKind::UnexpectedEof.into() })
            }
        }
    }

    pub(super) fn text_of(&mut self, width: usize) -> Step<Value> {
        Ok(Value::Text(String::from_utf8_lossy(&self.content(width)?).into()))
    }

    pub(super) fn bytes_of(&mut self, width: usize) -> Step<Value> {
        Ok(Value::Bytes(self.content(width)?.len()))
    }

    /// A whole number of up to 8 bytes, the lowest first.
    pub(super) fn long(&mut self) -> Step<Value> {
        let bytes = self.content(1)?;
        if bytes.len() > 8 {
            return Err(self.senseless("a number of more than 8 bytes"));
        }
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut filled = [if negative { 0xff } else { 0 }; 8];
        filled[..bytes.len()].copy_from_slice(&bytes);
        Ok(Value::Int(i64::from_le_bytes(filled)))
    }

    /// Decimal digits on a line; `01` and `00` are yes and no.
    pub(super) fn decimal(&mut self) -> Step<Value> {
        let line = self.line()?;
        match line.as_str() {
            "01" => Ok(Value::Bool(true)),
            "00" => Ok(Value::Bool(false)),
            digits => {
                let number = digits.trim_end_matches('L').parse();
                number.map(Value::Int).map_err(|_| self.senseless("a number"))
            }
        }
    }

    pub(super) fn place(&mut self) -> Step<u32> {
        let line = self.line()?;
        line.parse().map_err(|_| self.senseless("a place"))
    }

    pub(super) fn line(&mut self) -> Step<String> {
        let (mut bytes, at) = (Vec::new(), self.at);
        let read = (&mut self.input).take(LONGEST_TEXT).read_until(b'\n', &mut bytes);
        self.at += read.map_err(|error| PickleError::Broken { at, error })? as u64;
        match bytes.pop() {
            Some(b'\n') => Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\r').to_string()),
            _ => Err(PickleError::Broken { at: self.at, error: std::io::ErrorKind::UnexpectedEof.into() }),
        }
    }
}
