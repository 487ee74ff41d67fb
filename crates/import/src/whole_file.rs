//! Files that are there whole or not at all, whatever happens while they are written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file beside its place, and puts it there when it is complete and on the disk.
pub fn write<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = fill_and_sync(&beside, fill).and_then(|()| Ok(std::fs::rename(&beside, path)?));
    if written.is_err() {
        // What is half written is of no use; that it could not be removed either adds nothing.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn fill_and_sync<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = BufWriter::new(File::create(path)?);
    fill(&mut file)?;
    file.flush()?;
    Ok(file.get_ref().sync_all()?)
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
}
