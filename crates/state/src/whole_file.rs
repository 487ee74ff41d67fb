//! Files that are there whole or not at all, whatever happens while they are written.
//!
//! What is written goes to a file beside its place, to the disk, and only then under its name: who is killed or finds
//! the disk full in between leaves the old file as it was.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place, and puts it there when it is complete and on the disk.
pub fn write<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let beside = beside(path)?;
    let written = fill_and_sync(&beside, fill).and_then(|()| Ok(put(&beside, path)?));
    if written.is_err() {
        // What is half written is of no use; that it could not be removed either adds nothing.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Whether a file could be written there now; leaves nothing behind. For asking before hours of work, not for deciding
/// anything.
pub fn check(path: &Path) -> io::Result<()> {
    let beside = beside(path)?;
    File::create(&beside).map_err(|error| explained(path, &error))?;
    std::fs::remove_file(&beside)
}

/// Where a file is written before it gets its place.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let refused =
        |problem: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {problem}", path.display()));
    let name = path.file_name().ok_or_else(|| refused("this is no name of a file"))?.to_string_lossy();
    // A device, a pipe or a folder would be replaced by a plain file, or could not be.
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => Err(refused("there is something that is no plain file")),
        _ => Ok(path.with_file_name(format!(".{name}.{}", std::process::id()))),
    }
}

fn fill_and_sync<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = BufWriter::new(File::create(path).map_err(|error| explained(path, &error))?);
    fill(&mut file)?;
    file.flush()?;
    Ok(file.get_ref().sync_all()?)
}

/// Gives a complete file its name; the folder is written out, too, where the system can.
fn put(beside: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(beside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The file has its name by now; a system that cannot write folders out has nothing to report.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// An error with the folder that it is about.
fn explained(path: &Path, error: &io::Error) -> io::Error {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    io::Error::new(error.kind(), format!("no file can be made in {}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, |file| file.write_all(b"old")).unwrap();
        let failed = write(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn places_where_no_file_can_be_are_refused_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        check(&file).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(&file, b"plain").unwrap();
        check(&file).unwrap();
        for path in [folder.path().join("missing/file"), file.join("below"), folder.path().to_path_buf()] {
            let asked = check(&path).unwrap_err().to_string();
            let written = write(&path, |file| file.write_all(b"new")).unwrap_err().to_string();
            assert_eq!(asked, written);
            assert!(asked.contains(folder.path().to_str().unwrap()), "{asked}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"plain");
    }

    /// A process that ends in the middle of writing, as if killed.
    #[test]
    fn being_killed_leaves_the_old_file() {
        const PLACE: &str = "PLIMSOLL_TEST_KILLED_AT";
        if let Ok(path) = std::env::var(PLACE) {
            let _ = write(Path::new(&path), |file| -> io::Result<()> {
                file.write_all(&[1; 1 << 20])?;
                std::process::abort()
            });
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"old").unwrap();
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let name = "whole_file::tests::being_killed_leaves_the_old_file";
        let ended = again.args(["--exact", name]).env(PLACE, &path).output().unwrap();
        assert!(!ended.status.success());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        write(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}
