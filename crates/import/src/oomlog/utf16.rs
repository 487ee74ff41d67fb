//! Logs in UTF-16, as PowerShell redirects them: told by the mark at their start. Reports are plain ASCII, so dropping
//! the zero bytes is enough.

use std::io::{Cursor, Read};

/// The same input, narrow.
pub(crate) fn narrowed<'a>(mut input: impl Read + 'a) -> Box<dyn Read + 'a> {
    let mut start = Vec::new();
    // An error here comes again with the next read.
    let _ = (&mut input).take(2).read_to_end(&mut start);
    match start[..] {
        [0xff, 0xfe] | [0xfe, 0xff] => Box::new(Narrowed(input)),
        _ => Box::new(Cursor::new(start).chain(input)),
    }
}

struct Narrowed<R>(R);

impl<R: Read> Read for Narrowed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.0.read(buffer)?;
            let mut kept = 0;
            for index in 0..count {
                buffer[kept] = buffer[index];
                kept += usize::from(buffer[index] != 0);
            }
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}
