//! Evidence of running out of memory, of any kind we know: logs, PyTorch's snapshots and what `--json` says of a
//! failure, told apart by their first bytes. Gzip or not.

use crate::gzip::Unpacked;
use crate::hole::UpToHole;
use crate::oomlog::{self, Log};
use crate::snapshot::{self, SnapshotError};
use plimsoll_trace::Evidence;
use std::io::Read;

/// Reads evidence to its end.
pub fn read(input: impl Read) -> Result<Log, EvidenceError> {
    let mut input = UpToHole::new(Unpacked::new(input)?);
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

/// A failure as JSON has the evidence inside; what only looks like one is a log.
fn read_failure(mut input: impl Read) -> Result<Log, EvidenceError> {
    let mut bytes = Vec::new();
    // What breaks off is read as far as it goes, here as in a log.
    let ended = (&mut input).take(LARGEST_FAILURE).read_to_end(&mut bytes);
    match serde_json::from_slice::<Failure>(&bytes) {
        Ok(failure) => Ok(failure.log()),
        Err(_) if ended.is_err() => Ok(oomlog::read(&bytes[..])?),
        Err(_) => Ok(oomlog::read(bytes.chain(input))?),
    }
}

/// How `--json` says that memory could not be had.
#[derive(serde::Deserialize)]
struct Failure {
    error: String,
    evidence: Option<serde_json::Value>,
}

impl Failure {
    fn log(self) -> Log {
        let mut log =
            Log { sentences: u64::from(self.error.contains(" is out of memory: ")), ..Log::default() };
        match self.evidence.map(|value| Evidence::parse(value.to_string().as_bytes())) {
            None => {}
            Some(Ok(evidence)) => log.dumps.push(oomlog::dump_of(evidence, 1)),
            Some(Err(error)) => log.unread = Some(error.to_string()),
        }
        log
    }
}

/// A failure has some hundred kilobytes: all holders are listed.
const LARGEST_FAILURE: u64 = 16 << 20;

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

    const EVIDENCE: &str = r#"{"plimsoll_evidence":1,"step":1,"device":"host","asked_by":{"value":"b","role":"activation","layer":"a","op":"conv2d"},"requested_bytes":221184,"limit_bytes":2097152,"refused_by":{"device":{"system":null}},"holders":[]}"#;

    #[test]
    fn a_failure_as_json_has_the_evidence_of_the_log() {
        let json = format!("{{\n  \"error\": \"x\",\n  \"evidence\": {EVIDENCE}\n}}");
        let log = format!("evidence: {EVIDENCE}\nerror: step 1: ...\n");
        let [inside, plain] = [json.as_bytes(), log.as_bytes()].map(|bytes| read(bytes).unwrap().dumps);
        assert_eq!(inside, plain);
        assert_eq!(inside.len(), 1);
        let looks_like_one = format!("{{'loss': 0.3}}\n{log}");
        assert_eq!(read(looks_like_one.as_bytes()).unwrap().dumps.len(), 1);
        for end in 0..json.len() {
            read(&json.as_bytes()[..end]).unwrap();
        }
    }

    #[test]
    fn a_failure_of_an_older_version_is_recognised() {
        let older = r#"{"error": "step 1: host is out of memory: x asked for 3 B", "hint": null, "log": ["error: ..."]}"#;
        let log = read(older.as_bytes()).unwrap();
        assert_eq!((log.dumps.len(), log.sentences), (0, 1));
    }
}
