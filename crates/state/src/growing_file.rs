//! Files that grow while something runs, and have one writer.
//!
//! Such a file is of use before it has its end, so it is written in its place. A lock keeps a second writer away; the
//! system gives it back when its owner ends, however that happens.

use crate::destination::{Destination, refused, standard_output};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::Path;

/// Begins a file, in place of an older one of the same kind: one that is empty or starts with `head`. Anything else
/// that is there stays. Links, pipes and `-` are treated as in [`crate::whole_file`].
pub fn create(path: &Path, head: &[u8]) -> io::Result<File> {
    match Destination::find(path)? {
        Destination::Output => standard_output(),
        Destination::Through(path) => Destination::open_through(&path),
        Destination::Plain(place) => {
            let mut file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place)?;
            lock(&file)?;
            check_head(&mut file, head)?;
            file.set_len(0)?;
            io::Seek::rewind(&mut file)?;
            Ok(file)
        }
    }
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(refused("another run writes there")),
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn check_head(file: &mut File, head: &[u8]) -> io::Result<()> {
    let mut found = Vec::new();
    file.by_ref().take(head.len() as u64).read_to_end(&mut found)?;
    match found.is_empty() || found == head {
        true => Ok(()),
        false => Err(refused("there is a file of another kind, which is left as it is")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.trace");
        let mut first = create(&path, b"head").unwrap();
        first.write_all(b"head 1, long").unwrap();
        let refused = create(&path, b"head").unwrap_err().to_string();
        assert!(refused.contains("another run writes there"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), b"head 1, long");
        drop(first);
        create(&path, b"head").unwrap().write_all(b"head 2").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"head 2");
    }

    #[test]
    fn what_is_no_trace_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.keras");
        std::fs::write(&path, b"PK").unwrap();
        let refused = create(&path, b"head").unwrap_err().to_string();
        assert!(refused.contains("of another kind"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), b"PK");
    }
}
