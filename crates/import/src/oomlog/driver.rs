//! What the driver of a device says when it has no more, through whichever framework asked it, and copies to the
//! device that found no room. Few figures, and no pool.

use super::dump::{Dump, RefusedBy, Source};
use super::figure::{Figure, number, size};
use super::marks::Mark;
use super::words::{find, text_until};

/// A message that may come again.
pub(crate) struct Open {
    dump: Dump,
    /// The smallest that was refused: pools ask again for less.
    smallest: Option<Figure>,
}

impl Open {
    /// Begins a report, if the mark begins one.
    pub(crate) fn begin(line: u64, mark: Mark, before: &[u8], rest: &[u8]) -> Option<Self> {
        let dump = Dump { source: Source::Driver, line, ..Dump::default() };
        let mut open = Self { dump, smallest: None };
        open.accept(mark, before, rest).map(|()| open)
    }

    /// Takes what a line says; none where it is about something else.
    pub(crate) fn accept(&mut self, mark: Mark, before: &[u8], rest: &[u8]) -> Option<()> {
        match mark {
            Mark::DriverFailed => self.failed(rest)?,
            Mark::DriverError => self.error(before, rest),
            Mark::TorchDriver => {
                self.dump.source = Source::PyTorch;
                self.said("CUDA error: out of memory".to_string());
                self.dump.repeated += 1;
            }
            Mark::CopyFailed => self.copy(before),
            _ => return None,
        }
        Some(())
    }

    /// Whether it has no figure that a message of PyTorch's would not have, too.
    pub(crate) fn is_bare_torch(&self) -> bool {
        self.dump.source == Source::PyTorch && self.dump.request.is_none()
    }

    /// The smallest region that was refused.
    pub(crate) fn refused(&self) -> Option<Figure> {
        self.smallest
    }

    /// The report; what the device has may have been said before.
    pub(crate) fn finish(self, capacity: Option<Figure>) -> Dump {
        let mut dump = self.dump;
        dump.capacity = dump.capacity.or(capacity);
        dump.limit = dump.capacity;
        dump.repeated = dump.repeated.max(1);
        let absent = [
            (dump.request.is_none(), "how much was asked for"),
            (dump.limit.is_none(), "what the device has"),
            (true, "what is in use, and by whom: nvidia-smi lists the processes on a device"),
        ];
        dump.missing.extend(absent.iter().filter(|(absent, _)| *absent).map(|(_, what)| what.to_string()));
        dump
    }

    /// `3.95G (4242145280 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY` or `2147483648 bytes on host: ...`
    fn failed(&mut self, rest: &[u8]) -> Option<()> {
        let on_host = find(rest, b"bytes on host").is_some();
        if !on_host && find(rest, b"from device").is_none() {
            return None;
        }
        let asked = size(rest)?.0;
        let exact = find(rest, b"(").and_then(number).filter(|(_, rest)| rest.starts_with(b" bytes)"));
        let asked = exact.map_or(asked, |(bytes, _)| Figure::exact(bytes).better(Some(asked)));
        self.dump.repeated += 1;
        self.dump.request.get_or_insert(asked);
        if self.smallest.is_none_or(|smallest| asked.bytes < smallest.bytes) {
            self.smallest = Some(asked);
        }
        if on_host {
            self.said("no pinned memory on the host".to_string());
        }
        Some(())
    }

    fn error(&mut self, before: &[u8], rest: &[u8]) {
        if find(before, b"failed to alloc").is_none() {
            self.dump.repeated += 1;
        }
        if let Some((total, _)) = find(rest, b"total memory reported: ").and_then(size) {
            self.dump.capacity = Some(total);
        }
        self.said("CUDA_ERROR_OUT_OF_MEMORY: out of memory".to_string());
    }

    /// `... in order to run _EagerConst: Dst tensor is not initialized.`
    fn copy(&mut self, before: &[u8]) {
        self.dump.source = Source::TensorFlow;
        self.dump.refused_by = RefusedBy::Copy;
        self.dump.repeated += 1;
        let op = find(before, b"in order to run ").map(|name| text_until(name, b": "));
        if self.dump.op.is_none() {
            self.dump.op = op.filter(|name| !name.is_empty());
        }
    }

    /// Keeps what was said first.
    fn said(&mut self, words: String) {
        if self.dump.refused_by == RefusedBy::Pool {
            self.dump.refused_by = RefusedBy::Driver(words);
        }
    }
}
