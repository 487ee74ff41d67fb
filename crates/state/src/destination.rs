//! Where a file that is asked for really goes.
//!
//! `-` is standard output. Links are followed, also those whose end is missing. What is no plain file (a pipe, a
//! terminal, `/dev/null`) is written through and never replaced; a folder or a disk is refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Where a file goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Output,
    /// Something that takes bytes and keeps its place.
    Through(PathBuf),
    /// A plain file, behind all links; it may not be there yet.
    Plain(PathBuf),
}

impl Destination {
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Output);
        }
        let kind = match std::fs::metadata(path) {
            Ok(there) => Some(there.file_type()),
            Err(_) => None,
        };
        match kind {
            Some(kind) if kind.is_dir() => Err(refused("this is a folder")),
            Some(kind) if is_disk(kind) => Err(refused("this is a disk")),
            Some(kind) if !kind.is_file() => Ok(Self::Through(path.to_path_buf())),
            _ => match behind_links(path)? {
                Some(place) => Ok(Self::Plain(place)),
                None => Ok(Self::Through(path.to_path_buf())),
            },
        }
    }

    /// Opens what is written through.
    pub(crate) fn open_through(path: &Path) -> io::Result<File> {
        // Whoever named an open file by its number has written to it before, or will.
        OpenOptions::new().append(true).open(path)
    }
}

/// Standard output as a file; closing it leaves standard output open.
#[cfg(unix)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output as a file; closing it leaves standard output open.
#[cfg(windows)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

pub(crate) fn refused(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// The place that links lead to; nothing if they lead to an open file by its number, which has no name to replace.
fn behind_links(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut place = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        if ["/proc", "/dev/fd"].iter().any(|numbers| place.starts_with(numbers)) {
            return Ok(None);
        }
        match std::fs::read_link(&place) {
            Ok(target) => place = place.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(Some(place)),
        }
    }
    Err(refused("there are too many links on the way"))
}

#[cfg(unix)]
fn is_disk(kind: std::fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&kind)
}

#[cfg(not(unix))]
fn is_disk(_: std::fs::FileType) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_to_their_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("below")).unwrap();
        symlink("below/second", at("first")).unwrap();
        symlink("../missing", at("below/second")).unwrap();
        let found = Destination::find(&at("first")).unwrap();
        assert_eq!(found, Destination::Plain(at("below/../missing")));
        symlink("round", at("round")).unwrap();
        assert!(Destination::find(&at("round")).unwrap_err().to_string().contains("too many links"));
        symlink("/dev/null", at("nothing")).unwrap();
        assert_eq!(Destination::find(&at("nothing")).unwrap(), Destination::Through(at("nothing")));
        assert!(Destination::find(folder.path()).unwrap_err().to_string().contains("this is a folder"));
    }

    #[test]
    fn open_files_have_no_name_to_replace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        let number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        if Path::new(&number).exists() {
            let found = Destination::find(Path::new(&number)).unwrap();
            assert_eq!(found, Destination::Through(number.into()));
        }
        assert_eq!(Destination::find(Path::new("-")).unwrap(), Destination::Output);
    }
}
