//! The binary form of a trace: small enough to record every step, written as it happens, readable as far as it goes.
//!
//! The first line is `plimsoll trace 1`. Records follow; the low three bits of a record's first byte say its kind, the
//! others are flags. Numbers are LEB128; a difference goes through zigzag, so that small ones of either sign are short.
//!
//! | kind | record | flags and fields |
//! |---|---|---|
//! | 0 | end | how many events there were; a file without it was cut |
//! | 1 | about | length, JSON of [`crate::About`] |
//! | 2 | label | flag for what is computed again; value, role, layer, op: words between slashes, each a number of an earlier word or a new one without the beginning it shares with the last new one |
//! | 3 | take | flags for what is as expected: same time, next block, next label, bytes and offset as when the label was last taken; the rest as differences |
//! | 4 | free | flag for the same time; the block as a difference from the last one taken |
//! | 5 | mark | its kind in the flags; numbers of steps and clocks as differences |
//!
//! A step that is the same as an earlier one costs some ten bytes: a clock, its number and `again`.

mod encoding;
mod read;
mod write;

pub use read::{FileError, read};
pub use write::{Writer, write};

/// What a file begins with.
pub const HEADER: &str = "plimsoll trace 1\n";

/// Kinds of records.
const END: u8 = 0;
const ABOUT: u8 = 1;
const LABEL: u8 = 2;
const TAKE: u8 = 3;
const FREE: u8 = 4;
const MARK: u8 = 5;
/// The bits of a first byte that are its kind.
const KIND: u8 = 0b111;

/// The flag of labels: the op does what one before it did.
const LABEL_AGAIN: u8 = LABEL | 1 << 3;

/// Flags of takes; the first is one of frees too.
const SAME_TIME: u8 = 1 << 3;
const NEXT_BLOCK: u8 = 1 << 4;
const NEXT_LABEL: u8 = 1 << 5;
const SAME_BYTES: u8 = 1 << 6;
const SAME_OFFSET: u8 = 1 << 7;

/// Kinds of marks.
const STEP: u8 = MARK;
const CLOCK: u8 = MARK | 1 << 3;
const REGION: u8 = MARK | 2 << 3;
const REFUSED: u8 = MARK | 3 << 3;
const AGAIN: u8 = MARK | 4 << 3;
/// The same events as the last time.
const AGAIN_SAME: u8 = MARK | 5 << 3;
const EVALUATION: u8 = MARK | 6 << 3;

/// How many bytes of names a file may have, and how many events or marks: what is beyond is no recording but an attack.
const MOST_NAMES: usize = 64 << 20;
const MOST_EVENTS: usize = 1 << 25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Trace, specimen};
    use proptest::prelude::*;

    fn bytes(trace: &Trace) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(trace, &mut bytes).unwrap();
        bytes
    }

    fn begins_with(whole: &Trace, part: &Trace) -> bool {
        whole.labels.starts_with(&part.labels)
            && whole.events.starts_with(&part.events)
            && whole.marks.starts_with(&part.marks)
    }

    proptest! {
        #[test]
        fn round_trips(trace in specimen::any_trace()) {
            prop_assert_eq!(read(&bytes(&trace)[..]).unwrap(), (trace, false));
        }

        #[test]
        fn a_cut_file_is_a_beginning(trace in specimen::any_trace()) {
            let whole = bytes(&trace);
            for end in HEADER.len()..whole.len() {
                let (part, cut) = read(&whole[..end]).unwrap();
                prop_assert!(cut && begins_with(&trace, &part), "cut at {}", end);
            }
            prop_assert!((0..HEADER.len()).all(|end| read(&whole[..end]).is_err()));
            // Two files are no file.
            prop_assert!(read(&[&whole[..], &whole[..]].concat()[..]).is_err());
        }

        #[test]
        fn changed_bytes_are_an_error_or_a_trace(
            trace in specimen::any_trace(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut bytes = bytes(&trace);
            for (index, byte) in changes {
                let at = index.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = read(&bytes[..]);
        }

        #[test]
        fn any_bytes_are_an_error_or_a_trace(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&[HEADER.as_bytes(), &bytes].concat()[..]);
        }
    }

    #[test]
    fn a_name_that_grows_without_end_is_refused() {
        // Each label names a new word that shares all of the last one and has 200 bytes more: four bytes of file could
        // be a mebibyte of names.
        let mut bytes = HEADER.as_bytes().to_vec();
        let mut length = 0u64;
        for _ in 0..2000 {
            bytes.push(LABEL);
            bytes.push(1);
            encoding::put(&mut bytes, length);
            encoding::put(&mut bytes, 200);
            bytes.extend([b'a'; 200]);
            bytes.extend([3, 3, 3]);
            length += 200;
        }
        assert!(read(&bytes[..]).unwrap_err().to_string().contains("names"), "it is refused");
    }

    #[test]
    fn an_end_that_counts_otherwise_is_refused() {
        let events = vec![Event::Free { time: crate::Time(0), block: crate::BlockId(0) }];
        let mut bytes = bytes(&Trace { events, ..Trace::default() });
        *bytes.last_mut().unwrap() = 2;
        assert_eq!(read(&bytes[..]).unwrap_err().to_string(), "its end counts 2 events, but there are 1");
    }
}
