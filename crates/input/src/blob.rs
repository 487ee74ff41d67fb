//! Bytes at offsets: those of a file, read when they are wanted, or unpacked ones in memory.
//!
//! Files are read, not mapped: one that is cut off while it is read is an error then, and not the end of the process.

use crate::{Account, InputError, Taken};
use flate2::read::MultiGzDecoder;
use plimsoll_trace::Bytes;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that can be read at any offset.
pub struct Blob {
    path: PathBuf,
    length: u64,
    content: Content,
}

/// What is done with a reader; gives a number of bytes.
pub(crate) type Work<'a> = dyn FnMut(&mut dyn Read) -> io::Result<u64> + 'a;

enum Content {
    /// A part of a file.
    File {
        file: File,
        start: u64,
    },
    Memory {
        bytes: Vec<u8>,
        _taken: Taken,
    },
}

impl Blob {
    /// Opens a file. What is packed by gzip is unpacked into memory, if the account has room for it.
    pub fn open(path: &Path, account: &Arc<Account>) -> Result<Self, InputError> {
        let file = open_file(path)?;
        let mut magic = [0; 2];
        let is_packed = read_at(&file, 0, &mut magic).is_ok() && magic == [0x1f, 0x8b];
        match is_packed {
            true => Self::unpack(path, account, |work| {
                Ok(work(&mut MultiGzDecoder::new(BufReader::new(open_file(path)?))))
            }),
            false => {
                let length = file.metadata().map_err(|error| InputError::file(path, error))?.len();
                Ok(Self { path: path.to_path_buf(), length, content: Content::File { file, start: 0 } })
            }
        }
    }

    /// A part of a file.
    pub(crate) fn part(path: &Path, start: u64, length: u64) -> Result<Self, InputError> {
        let content = Content::File { file: open_file(path)?, start };
        Ok(Self { path: path.to_path_buf(), length, content })
    }

    /// Bytes in memory that were taken from an account.
    pub(crate) fn memory(path: &Path, bytes: Vec<u8>, taken: Taken) -> Self {
        let length = bytes.len() as u64;
        Self { path: path.to_path_buf(), length, content: Content::Memory { bytes, _taken: taken } }
    }

    /// Everything that a reader gives; `open` makes one and lends it. It is read twice: the first time its bytes are
    /// counted, so that no more is allocated than there is room for, whatever a header says.
    pub(crate) fn unpack(
        path: &Path,
        account: &Arc<Account>,
        open: impl Fn(&mut Work<'_>) -> Result<io::Result<u64>, InputError>,
    ) -> Result<Self, InputError> {
        let left = account.left();
        let failed = |error: io::Error| InputError::file(path, format!("it cannot be unpacked: {error}"));
        let most = left.0.saturating_add(1);
        let length =
            open(&mut |reader| io::copy(&mut reader.take(most), &mut io::sink()))?.map_err(failed)?;
        if length > left.0 {
            let problem = format!("it unpacks to more than {left}, which is all that input memory leaves");
            let hint = "unpack it on disk first, or give input more memory";
            return Err(InputError::file_with(path, problem, hint));
        }
        let who = format!("{}, unpacked,", path.display());
        let taken = account.hold(&who, Bytes(length))?;
        let mut bytes = vec![0; usize::try_from(length).map_err(|error| InputError::file(path, error))?];
        open(&mut |reader| reader.read_exact(&mut bytes).map(|()| length))?.map_err(failed)?;
        Ok(Self::memory(path, bytes, taken))
    }

    /// Where it comes from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Fills a buffer with the bytes from an offset on.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), InputError> {
        let end = offset.checked_add(into.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(InputError::file(
                &self.path,
                format!("it ends before byte {offset} + {}", into.len()),
            ));
        }
        match &self.content {
            Content::File { file, start } => read_at(file, start + offset, into)
                .map_err(|error| InputError::file(&self.path, explained(error))),
            Content::Memory { bytes, .. } => {
                let start = offset as usize;
                into.copy_from_slice(&bytes[start..start + into.len()]);
                Ok(())
            }
        }
    }

    /// Fills as much of a buffer as there is from an offset on.
    pub(crate) fn read_some(&self, offset: u64, into: &mut [u8]) -> Result<usize, InputError> {
        let length = self.length.saturating_sub(offset).min(into.len() as u64) as usize;
        self.read(offset, &mut into[..length])?;
        Ok(length)
    }
}

/// Opens a plain file; a folder, a pipe or a device has no samples at offsets.
pub(crate) fn open_file(path: &Path) -> Result<File, InputError> {
    let failed = |error: io::Error| InputError::file(path, error);
    // A pipe that nobody writes to would be waited for.
    let found = std::fs::metadata(path).map_err(failed)?;
    match found.is_file() {
        true => File::open(path).map_err(failed),
        false => Err(InputError::file(path, "it is no plain file")),
    }
}

fn explained(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it was cut off while it was read".to_string(),
        _ => error.to_string(),
    }
}

#[cfg(unix)]
pub(crate) fn read_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
pub(crate) fn read_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                into = &mut into[count..];
                offset += count as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn packed_files_are_unpacked_within_the_account() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gz");
        // Two members in a row, as `cat a.gz b.gz` makes.
        std::fs::write(&path, [packed(b"hello "), packed(b"world")].concat()).unwrap();
        let account = Account::new(Bytes(11));
        let blob = Blob::open(&path, &account).unwrap();
        let mut word = [0; 5];
        blob.read(6, &mut word).unwrap();
        assert_eq!((&word, account.in_use()), (b"world", Bytes(11)));
        assert!(blob.read(7, &mut word).is_err());
        drop(blob);
        // A bomb: a mebibyte of zeros in a kilobyte.
        std::fs::write(&path, packed(&vec![0; 1 << 20])).unwrap();
        let error = Blob::open(&path, &account).err().unwrap();
        assert!(error.to_string().contains("unpacks to more than 11 B"), "{error}");
        assert_eq!(account.peak(), Bytes(11));
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, [7; 100]).unwrap();
        let blob = Blob::open(&path, &Account::new(Bytes(0))).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        let error = blob.read(50, &mut [0; 8]).unwrap_err();
        assert!(error.to_string().ends_with("it was cut off while it was read"), "{error}");
        assert!(Blob::open(folder.path(), &Account::new(Bytes(0))).is_err());
    }
}
