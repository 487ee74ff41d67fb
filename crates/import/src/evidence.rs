//! Evidence of running out of memory, of any kind we know: logs, PyTorch's snapshots and what `plimsoll train --json` says of a failure, told apart by
//! their first bytes. Gzip or not.

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
    match start.first() {
        Some(b'{') => read_failure(whole),
        _ => Ok(oomlog::read(whole)?),
    }
}

/// A failure as JSON has the log inside; what only looks like one is a log itself.
fn read_failure(mut input: impl Read) -> Result<Log, EvidenceError> {
    let mut bytes = Vec::new();
    // What breaks off is read as far as it goes, here as in a log.
    let ended = (&mut input).take(LARGEST_FAILURE).read_to_end(&mut bytes);
    match serde_json::from_slice::<Failure>(&bytes) {
        Ok(failure) => Ok(oomlog::read(failure.log.join("\n").as_bytes())?),
        Err(_) if ended.is_err() => Ok(oomlog::read(&bytes[..])?),
        Err(_) => Ok(oomlog::read(bytes.chain(input))?),
    }
}

/// How `plimsoll train --json` says that memory ran out.
#[derive(serde::Deserialize)]
struct Failure {
    log: Vec<String>,
}

/// A failure has some kilobytes.
const LARGEST_FAILURE: u64 = 1 << 20;

/// Evidence that cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum EvidenceError {
    #[error("it cannot be read: {0}")]
    Broken(#[from] std::io::Error),
    #[error("it is no snapshot that can be read: {0}")]
    Snapshot(#[from] SnapshotError),
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "host is out of memory: conv2d of layer `a` (for `b`) asked for 216 KiB, but of its 2.00 MiB only 75.0 KiB are free";

    #[test]
    fn a_failure_as_json_is_the_log_inside() {
        let json = format!("{{\n  \"error\": \"x\",\n  \"log\": [\"error: step 1: {SHORT}\", \"\"]\n}}");
        let log = format!("error: step 1: {SHORT}\n");
        let [inside, plain] = [json.as_bytes(), log.as_bytes()].map(|bytes| read(bytes).unwrap().dumps);
        assert_eq!(inside, plain);
        assert_eq!(inside.len(), 1);
        let looks_like_one = format!("{{'loss': 0.3}}\n{log}");
        assert_eq!(read(looks_like_one.as_bytes()).unwrap().dumps.len(), 1);
        for end in 0..json.len() {
            read(&json.as_bytes()[..end]).unwrap();
        }
    }
}
