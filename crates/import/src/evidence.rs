//! Evidence of running out of memory, of any kind we know: logs and PyTorch's snapshots, told apart by their first bytes. Gzip or not.

use crate::gzip::Unpacked;
use crate::oomlog::{self, Log};
use crate::snapshot::{self, SnapshotError};
use std::io::Read;

/// Reads evidence to its end.
pub fn read(input: impl Read) -> Result<Log, EvidenceError> {
    let mut input = Unpacked::new(input)?;
    let mut start = Vec::new();
    // A gzip file that is cut off may break this early.
    let broken = (&mut input).take(2).read_to_end(&mut start).is_err();
    let is_pickle = matches!(start[..], [0x80, 1..=5]);
    let whole = start.as_slice().chain(input);
    if is_pickle && !broken {
        let dumps = snapshot::read(whole)?.dumps();
        return Ok(Log { dumps, ..Log::default() });
    }
    Ok(oomlog::read(whole)?)
}

/// Evidence that cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum EvidenceError {
    #[error("it cannot be read: {0}")]
    Broken(#[from] std::io::Error),
    #[error("it is no snapshot that can be read: {0}")]
    Snapshot(#[from] SnapshotError),
}
