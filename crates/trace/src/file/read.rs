//! Reads what [`super::write()`] writes, as far as it goes.

use super::encoding::{Expectation, differing};
use super::{
    ABOUT, AGAIN, AGAIN_SAME, CLOCK, END, EVALUATION, FREE, HEADER, KIND, LABEL, LABEL_AGAIN, MOST_EVENTS,
    MOST_NAMES, NEXT_BLOCK, NEXT_LABEL, REFUSED, REGION, SAME_BYTES, SAME_OFFSET, SAME_TIME, STEP, TAKE,
};
use crate::{BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace, What};
use std::io::{BufRead, BufReader, ErrorKind, Read};

/// Reads a trace; says whether its end is missing, because the process that wrote it was killed or the file was cut.
/// Whether the events make sense is for `verify` to say.
pub fn read(input: impl Read) -> Result<(Trace, bool), FileError> {
    let mut reader = Reader::new(BufReader::new(input));
    let mut header = [0; HEADER.len()];
    let whole = reader.input.read_exact(&mut header).is_ok();
    if !whole || header != HEADER.as_bytes() {
        return Err(FileError::Header);
    }
    loop {
        match reader.record() {
            Ok(true) => {}
            Ok(false) => return Ok((reader.trace, false)),
            Err(FileError::Broken(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                return Ok((reader.trace, true));
            }
            Err(error) => return Err(error),
        }
    }
}

/// A file that is no trace.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum FileError {
    #[error("it cannot be read: {0}")]
    Broken(#[from] std::io::Error),
    #[error("it does not begin with `{}`", HEADER.trim())]
    Header,
    #[error("record {record} is none that is known")]
    Unknown { record: u64 },
    #[error("record {record} has a number that does not fit")]
    Number { record: u64 },
    #[error("record {record} has a name that is not text, or names a word that is not there")]
    Name { record: u64 },
    #[error("what it says about itself is no JSON that fits: {0}")]
    About(serde_json::Error),
    #[error("it has more than {} MiB of names", MOST_NAMES >> 20)]
    Names,
    #[error("it has more than {MOST_EVENTS} events or marks")]
    TooMany,
    #[error("its end counts {counted} events, but there are {events}")]
    Count { counted: u64, events: usize },
    #[error("there is something behind its end")]
    Behind,
}

/// A file that is being read.
struct Reader<R> {
    input: R,
    trace: Trace,
    expected: Expectation,
    words: Vec<String>,
    /// Bytes of all names so far.
    names: usize,
    record: u64,
}

impl<R: BufRead> Reader<R> {
    fn new(input: R) -> Self {
        let (trace, expected) = (Trace::default(), Expectation::default());
        Self { input, trace, expected, words: Vec::new(), names: 0, record: 0 }
    }

    /// Reads a record; `false` for the end.
    fn record(&mut self) -> Result<bool, FileError> {
        let first = self.byte()?;
        match (first & KIND, first) {
            (END, END) => self.end()?,
            (ABOUT, ABOUT) => self.about()?,
            (LABEL, LABEL | LABEL_AGAIN) => self.label(first == LABEL_AGAIN)?,
            (TAKE, _) => self.take(first)?,
            (FREE, _) if first & !(KIND | SAME_TIME) == 0 => self.free(first)?,
            _ => self.mark(first)?,
        }
        if self.trace.events.len() > MOST_EVENTS || self.trace.marks.len() > MOST_EVENTS {
            return Err(FileError::TooMany);
        }
        self.record += 1;
        Ok(first != END)
    }

    fn end(&mut self) -> Result<(), FileError> {
        let (counted, events) = (self.number()?, self.trace.events.len());
        if counted != events as u64 {
            return Err(FileError::Count { counted, events });
        }
        if self.input.fill_buf()?.is_empty() { Ok(()) } else { Err(FileError::Behind) }
    }

    fn about(&mut self) -> Result<(), FileError> {
        let length = self.length()?;
        let json = self.bytes(length)?;
        self.trace.about = serde_json::from_slice(&json).map_err(FileError::About)?;
        Ok(())
    }

    fn label(&mut self, again: bool) -> Result<(), FileError> {
        let [value, role, layer, op] = [self.name()?, self.name()?, self.name()?, self.name()?];
        self.trace.labels.push(Label { value, role, layer, op, again });
        self.expected.takes.push((0, 0));
        Ok(())
    }

    fn take(&mut self, first: u8) -> Result<(), FileError> {
        let (time, block, next) = (self.expected.time, self.expected.block, self.expected.label);
        let time = if first & SAME_TIME != 0 { time } else { self.differing(time)? };
        let block = if first & NEXT_BLOCK != 0 { block } else { self.differing(block)? };
        let label = LabelId(if first & NEXT_LABEL != 0 { next } else { self.differing(next)? });
        let last = self.expected.last_take(label).unwrap_or_default();
        let bytes = if first & SAME_BYTES != 0 { last.1 } else { self.number()? };
        let offset = match first & SAME_OFFSET != 0 {
            true => last.0,
            false => differing(self.number()?, self.expected.end),
        };
        let (time, block) = (Time(time), BlockId(block));
        self.push(Event::Take { time, block, offset: Offset(offset), bytes: Bytes(bytes), label });
        Ok(())
    }

    fn free(&mut self, first: u8) -> Result<(), FileError> {
        let time = self.expected.time;
        let time = Time(if first & SAME_TIME != 0 { time } else { self.differing(time)? });
        let back = self.number()?;
        // The difference was taken the other way round: blocks that are freed were taken before.
        let block = u64::from(self.expected.block).wrapping_sub(differing(back, 0));
        let block = BlockId(u32::try_from(block).map_err(|_| self.wrong_number())?);
        self.push(Event::Free { time, block });
        Ok(())
    }

    fn push(&mut self, event: Event) {
        self.expected.event(&event);
        self.trace.events.push(event);
    }

    fn mark(&mut self, first: u8) -> Result<(), FileError> {
        let what = match first {
            STEP => What::Step { number: differing(self.number()?, self.expected.step) },
            CLOCK => What::Clock { nanoseconds: differing(self.number()?, self.expected.clock) },
            EVALUATION => What::Evaluation,
            REGION => What::Region { offset: Offset(self.number()?), bytes: Bytes(self.number()?) },
            REFUSED => What::Refused { bytes: Bytes(self.number()?), label: LabelId(self.fitting()?) },
            AGAIN => What::Again { from: self.fitting()?, count: self.fitting()? },
            AGAIN_SAME => What::Again { from: self.expected.again.0, count: self.expected.again.1 },
            _ => return Err(FileError::Unknown { record: self.record }),
        };
        self.expected.mark(what);
        self.trace.mark(what);
        Ok(())
    }

    fn name(&mut self) -> Result<String, FileError> {
        let mut name = String::new();
        loop {
            let number = self.number()?;
            let index = match number >> 1 {
                0 => self.new_word()?,
                number => usize::try_from(number - 1).map_err(|_| self.wrong_name())?,
            };
            let word = self.words.get(index).ok_or(FileError::Name { record: self.record })?;
            name.push_str(word);
            self.names += word.len() + 1;
            if self.names > MOST_NAMES {
                return Err(FileError::Names);
            }
            if number & 1 == 1 {
                return Ok(name);
            }
            name.push('/');
        }
    }

    fn new_word(&mut self) -> Result<usize, FileError> {
        let (shared, rest) = (self.length()?, self.length()?);
        let beginning = self.words.last().map_or("", String::as_str).get(..shared);
        let mut word = beginning.ok_or(self.wrong_name())?.to_string();
        let rest = self.bytes(rest)?;
        word.push_str(std::str::from_utf8(&rest).map_err(|_| self.wrong_name())?);
        self.names += word.len();
        self.words.push(word);
        Ok(self.words.len() - 1)
    }

    /// A length of text.
    fn length(&mut self) -> Result<usize, FileError> {
        let length = self.number()?;
        usize::try_from(length).ok().filter(|length| *length <= MOST_NAMES).ok_or(FileError::Names)
    }

    /// So many bytes; no more is taken for them than there are.
    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        (&mut self.input).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length { Err(cut()) } else { Ok(bytes) }
    }

    fn differing(&mut self, expected: u32) -> Result<u32, FileError> {
        let number = differing(self.number()?, expected.into());
        u32::try_from(number).map_err(|_| self.wrong_number())
    }

    fn fitting<T: TryFrom<u64>>(&mut self) -> Result<T, FileError> {
        let number = self.number()?;
        T::try_from(number).map_err(|_| self.wrong_number())
    }

    fn number(&mut self) -> Result<u64, FileError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = u64::from(self.byte()?);
            let bits = byte & 0x7f;
            if bits << shift >> shift != bits {
                return Err(self.wrong_number());
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.wrong_number())
    }

    fn byte(&mut self) -> Result<u8, FileError> {
        let byte = *self.input.fill_buf()?.first().ok_or_else(cut)?;
        self.input.consume(1);
        Ok(byte)
    }

    fn wrong_number(&self) -> FileError {
        FileError::Number { record: self.record }
    }

    fn wrong_name(&self) -> FileError {
        FileError::Name { record: self.record }
    }
}

fn cut() -> FileError {
    FileError::Broken(ErrorKind::UnexpectedEof.into())
}
