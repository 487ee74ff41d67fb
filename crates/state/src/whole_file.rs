//! Files that are there whole or not at all, whatever happens while they are written.
//!
//! What is written goes to a file beside its place, to the disk, and only then under its name: who is killed or finds
//! the disk full in between leaves the old file as it was. A file that was there keeps its permissions; links are
//! followed and stay. Pipes, terminals and `/dev/null` are written through, and `-` is standard output.

use crate::destination::{Destination, refused, standard_output};
use crate::orphans;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place, and puts it there when it is complete and on the disk.
pub fn write<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut Sink) -> Result<(), E>,
) -> Result<(), E> {
    match Destination::find(path)? {
        Destination::Output => Sink::new(standard_output()?, true).fill(fill).map(drop),
        Destination::Through(path) => {
            let file = Destination::open_through(&path).map_err(|error| explained(&path, &error))?;
            Sink::new(file, false).fill(fill).map(drop)
        }
        Destination::Plain(place) => replace(&place, fill),
    }
}

/// Whether a file could be written there now; leaves nothing behind. For asking before hours of work, not for deciding
/// anything.
pub fn check(path: &Path) -> io::Result<()> {
    match Destination::find(path)? {
        Destination::Output => Ok(()),
        // To open a pipe and to close it again would end it for who reads it, so it is only looked at.
        Destination::Through(place) => match std::fs::metadata(place)?.permissions().readonly() {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => Ok(()),
        },
        Destination::Plain(place) => std::fs::remove_file(create_beside(&place)?.0),
    }
}

/// Whether a plain file would be written there, in which one can go back.
pub fn is_plain(path: &Path) -> io::Result<bool> {
    Ok(matches!(Destination::find(path)?, Destination::Plain(_)))
}

/// What a file is written to.
#[derive(Debug)]
pub struct Sink {
    file: BufWriter<File>,
    /// Whether it is standard output, whose reader may have enough before the end.
    is_output: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_gone(bytes.len(), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_gone((), BufWriter::flush)
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Sink {
    fn new(file: File, is_output: bool) -> Self {
        Self { file: BufWriter::new(file), is_output }
    }

    fn fill<E: From<io::Error>>(mut self, fill: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<File, E> {
        fill(&mut self)?;
        self.flush()?;
        // What could not be written was a failure above, or nobody wants it.
        Ok(self.file.into_parts().0)
    }

    /// That nobody reads standard output any more is no failure.
    fn unless_gone<T>(
        &mut self,
        done: T,
        act: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
    ) -> io::Result<T> {
        match act(&mut self.file) {
            Err(error) if self.is_output && error.kind() == io::ErrorKind::BrokenPipe => Ok(done),
            result => result,
        }
    }
}

fn replace<E: From<io::Error>>(place: &Path, fill: impl FnOnce(&mut Sink) -> Result<(), E>) -> Result<(), E> {
    orphans::remove(folder(place));
    let (beside, file) = create_beside(place)?;
    let filled = Sink::new(file, false).fill(fill);
    let written = filled.and_then(|file| Ok(file.sync_all()?)).and_then(|()| Ok(put(&beside, place)?));
    if written.is_err() {
        // What is half written is of no use; that it could not be removed either adds nothing.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// A new file beside a place, with the permissions of what is there. What may not be written is not replaced either.
fn create_beside(place: &Path) -> io::Result<(PathBuf, File)> {
    place.file_name().ok_or_else(|| refused("this is no name of a file"))?;
    let old = match OpenOptions::new().write(true).open(place) {
        Ok(file) => Some(file.metadata()?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // The number makes the name free; a name that is taken, also by a link, is never opened.
    for number in 0.. {
        let beside = place.with_file_name(orphans::name(std::process::id(), number));
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => {
                old.iter().for_each(|old| take_over(&file, old));
                return Ok((beside, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {}
            Err(error) => return Err(explained(place, &error)),
        }
    }
    unreachable!("the last number ends it")
}

/// Gives a file the owner and the permissions of another, as far as the system lets us.
fn take_over(file: &File, old: &std::fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only root can give files away.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    let _ = file.set_permissions(old.permissions());
}

/// Gives a complete file its name; the folder is written out, too, where the system can.
fn put(beside: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(beside, path)?;
    // The file has its name by now; a system that cannot write folders out has nothing to report.
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// An error with the folder that it is about.
fn explained(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no file can be made in {}: {error}", folder(path).display()))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
        let folder = folder.path();
        let (missing, below) = (folder.join("missing/file"), file.join("below"));
        for (path, why) in
            [(missing, folder.to_str().unwrap()), (below, "Not a directory"), (folder.into(), "a folder")]
        {
            let asked = check(&path).unwrap_err().to_string();
            let written = write(&path, |file| file.write_all(b"new")).unwrap_err().to_string();
            assert_eq!(asked, written);
            assert!(asked.contains(why), "{asked}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"plain");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("below")).unwrap();
        symlink("below/file", at("link")).unwrap();
        write(&at("link"), |file| file.write_all(b"through a link to nothing")).unwrap();
        std::fs::set_permissions(at("below/file"), PermissionsExt::from_mode(0o640)).unwrap();
        write(&at("link"), |file| file.write_all(b"again")).unwrap();
        assert!(at("link").is_symlink());
        assert_eq!(std::fs::read(at("below/file")).unwrap(), b"again");
        assert_eq!(std::fs::metadata(at("below/file")).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(at("below")).unwrap().count(), 1, "nothing is left beside it");
    }

    #[cfg(unix)]
    #[test]
    fn special_files_are_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        check(&pipe).unwrap();
        write(&pipe, |file| file.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(!pipe.is_file() && !is_plain(&pipe).unwrap());
        write(Path::new("/dev/null"), |file| file.write_all(b"gone")).unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }

    #[test]
    fn many_writers_in_one_process_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n".repeat(250));
        let fill = |byte: u8| write(&path, |file| file.write_all(&[byte; 1 << 16]));
        std::thread::scope(|scope| {
            (0..8).for_each(|byte| drop(scope.spawn(move || fill(byte).unwrap())));
        });
        let found = std::fs::read(&path).unwrap();
        assert!(found.len() == 1 << 16 && found.iter().all(|byte| *byte == found[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
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
