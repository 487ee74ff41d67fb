//! `plimsoll train --trace`: where the recording goes, and what came of it.

use super::eager::USUAL;
use crate::arguments::{Mode, Train};
use crate::failure::Failure;
use crate::inspect::headline;
use plimsoll::Prepared;
use plimsoll::memory::Device;
use plimsoll::recording::{Way, about};
use plimsoll::trace::Recorder;
use std::fs::File;

/// The recorder, if one is wanted.
pub(super) fn open(
    arguments: &Train,
    prepared: &[Prepared],
    device: &Device,
) -> Result<Option<Recorder>, Failure> {
    let Some(path) = &arguments.trace else { return Ok(None) };
    let way = match arguments.memory_use.mode {
        Mode::Graph => Way::Planned,
        Mode::Eager => Way::Eager(arguments.memory_use.allocator.as_deref().unwrap_or(USUAL)),
    };
    let about = about(prepared, &headline(&prepared[0]), device, way);
    let recorder = File::create(path).and_then(|file| Recorder::new(Box::new(file), &about));
    let failed = |error| Failure::usage(format!("cannot write {}: {error}", path.display()), None);
    recorder.map(Some).map_err(failed)
}

/// Says how the recording ended, on stderr. A run does not fail because its recording did.
pub(super) fn tell(ended: Option<std::io::Result<u64>>) {
    match ended {
        None => {}
        Some(Ok(events)) => eprintln!("recorded {events} events, and which steps repeat them"),
        Some(Err(error)) => eprintln!("warning: the trace could not be written to its end: {error}"),
    }
}
