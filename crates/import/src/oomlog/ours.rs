//! This program's own evidence, as `train` prints it.

use super::dump::{Dump, Holder, Source};
use super::figure::{Figure, size};
use super::marks::Mark;
use super::words::{find, text_until};
use memchr::memmem;

/// A report that may go on.
pub(crate) struct Open {
    dump: Dump,
}

impl Open {
    /// `host is out of memory: conv2d of layer `a` (for `b`) asked for 216 KiB, and of its 2.00 MiB 275 KiB are free, ...`
    pub(crate) fn begin(line: u64, before: &[u8], rest: &[u8]) -> Option<Self> {
        let said = memmem::find(before, b" is out of memory: ")?;
        let mut dump = Dump { source: Source::Plimsoll, line, repeated: 1, ..Dump::default() };
        dump.request = Some(size(rest)?.0);
        let device = before[..said].rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        dump.allocator = Some(text_until(device, b" "));
        let who = &before[said + " is out of memory: ".len()..];
        dump.op = Some(text_until(who.trim_ascii_end(), b"")).filter(|who| !who.is_empty());
        dump.limit = find(rest, b" of its ").and_then(size).map(|(limit, _)| limit);
        dump.largest_free = find(rest, b"largest piece has only ").and_then(size).map(|(piece, _)| piece);
        Some(Self { dump })
    }

    pub(crate) fn accept(&mut self, mark: Mark, before: &[u8], rest: &[u8]) -> Option<()> {
        match mark {
            Mark::Held => {
                let (bytes, after) = size(rest)?;
                let who = text_until(before.trim_ascii(), b"");
                if after.trim_ascii().is_empty() && !who.is_empty() && self.dump.holders.len() < 1000 {
                    self.dump.holders.push(Holder { who, bytes });
                }
            }
            Mark::OurPool => self.pool(before, rest)?,
            _ => return None,
        }
        Some(())
    }

    /// `(bfc: 1.73 MiB in use, 2.00 MiB reserved of 2.00 MiB, largest free block 120 KiB, fragmentation 56 %)`
    fn pool(&mut self, before: &[u8], rest: &[u8]) -> Option<()> {
        let (in_use, between) = size(find(before, b": ")?)?;
        let (pool, _) = size(find(between, b"in use, ")?)?;
        let (limit, rest) = size(rest)?;
        let (largest, _) = size(find(rest, b"largest free block ")?)?;
        self.dump.in_use = Some(in_use);
        self.dump.pool = Some(pool);
        self.dump.limit = Some(limit);
        self.dump.largest_free = Some(largest);
        self.dump.free = Some(pool.minus(in_use));
        Some(())
    }

    pub(crate) fn finish(self) -> Dump {
        let mut dump = self.dump;
        if dump.pool.is_none() {
            dump.missing.push("how the pool stands".to_string());
            dump.free = dump.free.or(Some(Figure::at_least(0)));
        }
        dump.missing.push("the blocks one by one".to_string());
        dump
    }
}
