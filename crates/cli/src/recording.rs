//! Reading a recorded trace that was named on the command line.

use crate::failure::Failure;
use crate::output;
use plimsoll::replay::{Recording, read};
use plimsoll::state::input_file;
use std::path::Path;

/// What can be read as a trace.
pub const KINDS: &str = "a trace is what `plimsoll train --trace` writes, its text form (`trace 1`), a log of TensorFlow's allocator (`# bfctrace v1`), a profile of TensorFlow's \
     (.xplane.pb) or a memory snapshot of PyTorch's (.pickle), gzip or not";

/// Reads a trace and tells on stderr what is missing in it.
pub fn recording(path: &str) -> Result<Recording, Failure> {
    let name = if path == "-" { "standard input" } else { path };
    let file = input_file::open(Path::new(path))
        .map_err(|error| Failure::closed(format!("cannot open {name}: {error}"), &error))?;
    let recording =
        read(file).map_err(|error| Failure::usage(format!("{name}: {error}"), Some(KINDS.to_string())))?;
    recording.all_notes().iter().for_each(output::note);
    Ok(recording)
}
