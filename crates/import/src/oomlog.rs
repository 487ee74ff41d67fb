//! Out-of-memory reports in logs: TensorFlow's dumps of all generations and its tracebacks without one, PyTorch's
//! messages, XLA's reports, our own evidence, what drivers say, and how hosts end processes.
//!
//! In: any stream of bytes, gzip or not, in which reports may be buried. Out: a [`Log`] with a [`Dump`] for each, in
//! the order of their lines. Memory is bounded: of many reports the first and the last are kept, and of many chunks
//! only so many.

mod driver;
mod dump;
mod figure;
mod host;
mod kept;
mod marks;
mod ours;
mod plain;
mod pool;
mod reader;
mod scan;
mod tensorflow;
mod torch;
mod utf16;
mod words;
mod xla;

pub use dump::{
    Activity, Bin, Chunk, Dump, Killed, Killer, LoggedHolder, RefusedBy, Region, SizeCount, Source,
};
pub use figure::Figure;
pub(crate) use figure::LARGEST_CHUNK;
pub(crate) use ours::dump_of;

use crate::gzip::Unpacked;
use marks::{MARKS, Mark};
use reader::Reader;
use scan::{Lines, Marks};
use std::io::Read;

/// How many reports are kept from the start of a log, and how many from its end.
pub const KEPT: usize = 64;

/// Reads a log to its end. An input that breaks off is read as far as it goes, and the log says so.
pub fn read(input: impl Read) -> std::io::Result<Log> {
    let mut lines = Lines::new(utf16::narrowed(Unpacked::new(input)?));
    let marks = Marks::new(&MARKS);
    let mut reader = Reader::default();
    while let Some((number, line)) = lines.next() {
        reader.line = number;
        let mut from = reader.continue_evidence(line);
        reader.continue_message(&line[from..]);
        reader.continue_table(line);
        while let Some((mark, start, end)) = marks.find(line, from) {
            reader.mark = (start, end);
            from = match mark {
                // What stands inside it is data, whatever words it is made of.
                Mark::Evidence => start + reader.begin_evidence(&line[start..]),
                _ => {
                    reader.accept(mark, line);
                    end
                }
            };
        }
    }
    let mut log = reader.finish();
    log.broken = lines.broken().map(|error| error.to_string());
    Ok(log)
}

/// The reports of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Each report, in the order of their lines.
    pub dumps: Vec<Dump>,
    /// How many more there were between the first and the last that are kept.
    pub skipped: u64,
    /// How often TensorFlow wanted memory and did without.
    pub did_without: u64,
    /// Why the input ended early, if it did.
    pub broken: Option<String>,
    /// How often this program says in words that memory ran out; the figures stand in its evidence.
    pub sentences: u64,
    /// Why evidence of this program could not be read, for the first that could not.
    pub unread: Option<String>,
}
