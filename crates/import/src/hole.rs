//! Input that ends where a hole begins: a sparse file of a terabyte has nothing to say and takes an hour to read.

use std::io::{Error, ErrorKind, Read, Result};

/// More zero bytes than this in a row are no text. (Text in UTF-16 has one at a time.)
const LARGEST_HOLE: u64 = 64 << 20;

/// Input that breaks off in a hole.
pub(crate) struct UpToHole<R> {
    input: R,
    /// Zero bytes at the end of what was read so far.
    zeros: u64,
}

impl<R: Read> UpToHole<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, zeros: 0 }
    }
}

impl<R: Read> Read for UpToHole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.input.read(buffer)?;
        let zeros = buffer[..count].iter().rev().take_while(|byte| **byte == 0).count();
        self.zeros = if zeros == count { self.zeros + zeros as u64 } else { zeros as u64 };
        match self.zeros > LARGEST_HOLE {
            true => Err(Error::new(ErrorKind::InvalidData, "64 MiB of it are zeros, which is no text")),
            false => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{copy, repeat, sink};

    #[test]
    fn reading_ends_in_a_hole_and_nowhere_else() {
        let zeros = |count: u64| repeat(0).take(count);
        let text = || repeat(b'a').take(1 << 16);
        let read = |input: &mut dyn Read| copy(&mut UpToHole::new(input), &mut sink());
        assert!(
            read(&mut text().chain(zeros(LARGEST_HOLE)).chain(text()).chain(zeros(LARGEST_HOLE))).is_ok()
        );
        assert!(read(&mut text().chain(zeros(u64::MAX))).is_err());
    }
}
