//! Input that may be gzip, which is seen from its first bytes.

use flate2::read::MultiGzDecoder;
use std::io::{Chain, Cursor, Read};

/// The bytes that were looked at, then the rest.
type Start<R> = Chain<Cursor<Vec<u8>>, R>;

/// Input that is unpacked where it has to be.
pub(crate) enum Unpacked<R: Read> {
    Plain(Start<R>),
    Gzip(Box<MultiGzDecoder<Start<R>>>),
}

impl<R: Read> Unpacked<R> {
    pub(crate) fn new(mut input: R) -> std::io::Result<Self> {
        let mut magic = Vec::new();
        input.by_ref().take(2).read_to_end(&mut magic)?;
        let gzip = magic == [0x1f, 0x8b];
        let start = Cursor::new(magic).chain(input);
        Ok(if gzip { Self::Gzip(Box::new(MultiGzDecoder::new(start))) } else { Self::Plain(start) })
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Gzip(input) => input.read(buffer),
        }
    }
}
