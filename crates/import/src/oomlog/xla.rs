//! XLA's reports: a program that is larger than the device (TPU), a device too full for it, and the buffers of a
//! program (GPU).

use super::dump::{Dump, LoggedHolder, Source};
use super::figure::{Figure, size};
use super::marks::Mark;
use super::words::{find, text_until};

/// How many buffers are kept.
const MOST_BUFFERS: usize = 1 << 10;

/// A report that may go on.
pub(crate) struct Open {
    dump: Dump,
    listing: bool,
}

impl Open {
    /// Begins a report, if the mark begins one.
    pub(crate) fn begin(line: u64, mark: Mark, rest: &[u8]) -> Option<Self> {
        let mut dump = Dump { source: Source::Xla, line, repeated: 1, ..Dump::default() };
        match mark {
            Mark::RanOutHbm => ran_out(&mut dump, rest)?,
            Mark::AttemptingToReserve => reserve(&mut dump, rest)?,
            Mark::OutOfMemoryTrying => dump.request = Some(size(rest)?.0),
            _ => return None,
        }
        Some(Self { dump, listing: false })
    }

    /// What was asked for.
    pub(crate) fn request(&self) -> Option<Figure> {
        self.dump.request
    }

    /// Takes a line that belongs to it; none where it does not.
    pub(crate) fn accept(&mut self, mark: Mark, rest: &[u8]) -> Option<()> {
        match mark {
            Mark::ParameterAllocation => self.hold("parameters of the program", size(rest)?.0),
            Mark::TempAllocation => self.hold("temporaries of the program", size(rest)?.0),
            Mark::TempFragmentation => {
                let fragmented = size(rest)?.0;
                self.dump.free = Some(fragmented).filter(|figure| figure.bytes > 0);
            }
            Mark::TotalAllocation | Mark::ProgramRequirement => self.program(size(rest)?.0),
            Mark::Size => {
                self.listing = true;
                self.hold("", size(rest)?.0);
            }
            Mark::OpName | Mark::XlaLabel if self.listing => self.name(mark, rest),
            _ => return None,
        }
        Some(())
    }

    fn program(&mut self, bytes: Figure) {
        if self.dump.request.is_none() {
            self.dump.request = Some(bytes);
        }
    }

    fn hold(&mut self, who: &str, bytes: Figure) {
        if self.dump.holders.len() < MOST_BUFFERS {
            self.dump.holders.push(LoggedHolder { who: who.to_string(), bytes });
        }
    }

    /// The first name after a size is its buffer's; an op's name is better than a label.
    fn name(&mut self, mark: Mark, rest: &[u8]) {
        let name = text_until(rest, if mark == Mark::OpName { b"\"" } else { b"\n" });
        if let Some(holder) = self.dump.holders.last_mut().filter(|holder| holder.who.is_empty()) {
            holder.who = name.split(" = ").next().unwrap_or_default().chars().take(120).collect();
        }
    }

    /// The buffers, for a dump of the same failure.
    pub(crate) fn into_holders(self) -> Vec<LoggedHolder> {
        self.finish().holders
    }

    pub(crate) fn finish(self) -> Dump {
        let mut dump = self.dump;
        for (number, holder) in
            dump.holders.iter_mut().enumerate().filter(|(_, holder)| holder.who.is_empty())
        {
            holder.who = format!("buffer {}", number + 1);
        }
        let absent = [
            (dump.limit.is_none(), "the device's capacity"),
            (dump.holders.is_empty(), "the largest buffers of the program"),
        ];
        dump.missing.extend(absent.iter().filter(|(absent, _)| *absent).map(|(_, what)| what.to_string()));
        dump
    }
}

/// `hbm. Used 16.81G of 15.48G hbm. Exceeded hbm capacity by 1.33G.`
fn ran_out(dump: &mut Dump, rest: &[u8]) -> Option<()> {
    let (used, rest) = size(find(rest, b"Used ")?)?;
    dump.request = Some(used);
    dump.limit = size(find(rest, b"of ")?).map(|(limit, _)| limit);
    dump.capacity = dump.limit;
    dump.in_use = Some(Figure::exact(0));
    Some(())
}

/// `3.95G at the bottom of memory. That was not possible. There are 1.92G free, 0B reserved, and 1.92G reservable.`
fn reserve(dump: &mut Dump, rest: &[u8]) -> Option<()> {
    let (asked, rest) = size(rest)?;
    dump.request = Some(asked);
    dump.free = find(rest, b"There are ").and_then(size).map(|(free, _)| free);
    dump.largest_free = find(rest, b", and ").and_then(size).map(|(reservable, _)| reservable);
    Some(())
}
