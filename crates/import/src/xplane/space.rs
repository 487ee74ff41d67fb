//! The messages of a profile: a space has planes, a plane has lines of events, and tables of the names that events and
//! their stats refer to.

use super::{MOST_EVENTS, MemoryEvent, ProfileError};
use crate::protobuf::{Field, Fields, WireError};
use std::collections::HashMap;

/// Numbers of fields, as in TensorFlow's `xplane.proto`.
const SPACE_PLANE: u64 = 1;
const PLANE_LINE: u64 = 3;
const PLANE_EVENT_NAMES: u64 = 4;
const PLANE_STAT_NAMES: u64 = 5;
const LINE_NANOSECONDS: u64 = 3;
const LINE_EVENT: u64 = 4;
const EVENT_NAME: u64 = 1;
const EVENT_PICOSECONDS: u64 = 2;
const EVENT_STAT: u64 = 4;
const STAT_NAME: u64 = 1;
const STAT_TEXT: u64 = 5;
const STAT_REFERENCE: u64 = 7;
const ENTRY_KEY: u64 = 1;
const ENTRY_VALUE: u64 = 2;
const NAME: u64 = 2;

/// How much of a name is kept.
const LONGEST_NAME: usize = 512;

/// The names of a plane, by their numbers.
type Names<'a> = HashMap<u64, &'a [u8]>;

/// Every allocation and deallocation of every plane, in no particular order.
pub(super) fn memory_events(space: &[u8]) -> Result<Vec<MemoryEvent>, ProfileError> {
    let mut events = Vec::new();
    for plane in messages(space, SPACE_PLANE) {
        let plane = plane?;
        let event_names = names(plane, PLANE_EVENT_NAMES)?;
        let stat_names = names(plane, PLANE_STAT_NAMES)?;
        for line in messages(plane, PLANE_LINE) {
            add_line(line?, &event_names, &stat_names, &mut events)?;
        }
    }
    Ok(events)
}

fn add_line(
    line: &[u8],
    event_names: &Names,
    stat_names: &Names,
    events: &mut Vec<MemoryEvent>,
) -> Result<(), ProfileError> {
    let start = number(line, LINE_NANOSECONDS)?.saturating_mul(1000);
    for event in messages(line, LINE_EVENT) {
        let event = event?;
        let is_free = match event_names.get(&number(event, EVENT_NAME)?).copied() {
            Some(b"MemoryAllocation") => false,
            Some(b"MemoryDeallocation") => true,
            _ => continue,
        };
        let picoseconds = start.saturating_add(number(event, EVENT_PICOSECONDS)?);
        let mut read = MemoryEvent { picoseconds, is_free, ..MemoryEvent::default() };
        for stat in messages(event, EVENT_STAT) {
            add_stat(stat?, stat_names, &mut read)?;
        }
        // An allocation that failed has no address.
        if read.address != 0 {
            events.push(read);
        }
        if events.len() > MOST_EVENTS {
            return Err(ProfileError::TooMany);
        }
    }
    Ok(())
}

fn add_stat(stat: &[u8], names: &Names, event: &mut MemoryEvent) -> Result<(), WireError> {
    let (mut name, mut value, mut words) = (None, 0, &[][..]);
    for field in Fields::new(stat) {
        match field? {
            (STAT_NAME, Field::Number(number)) => name = names.get(&number).copied(),
            (STAT_TEXT, Field::Bytes(bytes)) => words = bytes,
            (STAT_REFERENCE, Field::Number(number)) => {
                words = names.get(&number).copied().unwrap_or_default()
            }
            (_, Field::Number(number)) => value = number,
            _ => {}
        }
    }
    match name {
        Some(b"allocator_name") => event.allocator = text(words),
        Some(b"bytes_allocated") => event.in_use = value,
        Some(b"bytes_available") => event.available = value,
        Some(b"bytes_reserved") => event.reserved = value,
        Some(b"requested_bytes") => event.requested = value,
        Some(b"allocation_bytes") => event.given = value,
        Some(b"addr") => event.address = value,
        Some(b"tf_op") => event.op = text(words),
        Some(b"region_type") => event.kind = text(words),
        _ => {}
    }
    Ok(())
}

/// A table of names: entries of a number and a message that has the name.
fn names(plane: &[u8], table: u64) -> Result<Names<'_>, WireError> {
    let mut names = Names::new();
    for entry in messages(plane, table) {
        let (mut key, mut name) = (0, &[][..]);
        for field in Fields::new(entry?) {
            match field? {
                (ENTRY_KEY, Field::Number(number)) => key = number,
                (ENTRY_VALUE, Field::Bytes(value)) => {
                    for named in messages(value, NAME) {
                        name = named?;
                    }
                }
                _ => {}
            }
        }
        names.insert(key, name);
    }
    Ok(names)
}

/// The fields of one number that are bytes.
fn messages(message: &[u8], wanted: u64) -> impl Iterator<Item = Result<&[u8], WireError>> {
    Fields::new(message).filter_map(move |field| match field {
        Ok((number, Field::Bytes(bytes))) if number == wanted => Some(Ok(bytes)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// A field of one number that is a number; 0 where it is left out.
fn number(message: &[u8], wanted: u64) -> Result<u64, WireError> {
    let mut found = 0;
    for field in Fields::new(message) {
        if let (number, Field::Number(value)) = field?
            && number == wanted
        {
            found = value;
        }
    }
    Ok(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_NAME)]).into_owned()
}
