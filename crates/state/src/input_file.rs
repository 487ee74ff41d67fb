//! Opening what others wrote, which may be anything: what never ends or never begins is refused.
//!
//! A path may be a plain file, a pipe that somebody writes to, a terminal, or `-` for standard input. A folder, a disk
//! or a device such as `/dev/zero` is none of these.

use plimsoll_trace::Bytes;
use std::fs::{File, FileType, Metadata};
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// How long a pipe may have nobody who writes to it.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Opens what is there.
pub fn open(path: &Path) -> io::Result<File> {
    let file = match path == Path::new("-") {
        true => standard_input()?,
        false if is_pipe(std::fs::metadata(path)?.file_type()) => open_pipe(path)?,
        false => File::open(path)?,
    };
    match refusal(&file.metadata()?, file.is_terminal()) {
        None => Ok(file),
        Some(problem) => Err(io::Error::new(io::ErrorKind::InvalidInput, problem)),
    }
}

/// Everything that is there, if it is not more than a limit.
pub fn read(path: &Path, most: Bytes) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if file.metadata()?.len() > most.0 {
        return Err(too_large(most));
    }
    read_all(file, most)
}

/// Everything that is left of an open input, if it is not more than a limit.
pub fn read_all(input: impl Read, most: Bytes) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most.0 + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most.0 { Err(too_large(most)) } else { Ok(bytes) }
}

/// The same as text.
pub fn read_text(path: &Path, most: Bytes) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is no text: {}", error.utf8_error()))
    })
}

/// What would help where something cannot be opened.
pub fn hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::NotFound => Some("look at the path again; - stands for standard input"),
        io::ErrorKind::PermissionDenied => Some("whoever runs this must be allowed to read it"),
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
            Some("name a file; what another program prints can be piped in, with - as its name")
        }
        io::ErrorKind::TimedOut => Some("start the program that writes to it first"),
        io::ErrorKind::FileTooLarge => Some("it should be a smaller piece, or is not what was meant"),
        _ => None,
    }
}

fn too_large(most: Bytes) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it is larger than {most}, the most that is read here"),
    )
}

/// A pipe is there when somebody writes to it, which may never be. The thread that waits in vain ends with the process.
fn open_pipe(path: &Path) -> io::Result<File> {
    let (opened, waiting) = mpsc::channel();
    let path = path.to_path_buf();
    std::thread::spawn(move || opened.send(File::open(path)));
    waiting.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let problem = format!("nobody has written to this pipe for {} s", PATIENCE.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, problem))
    })
}

/// Why something cannot be input.
fn refusal(found: &Metadata, is_terminal: bool) -> Option<&'static str> {
    let kind = found.file_type();
    match () {
        () if kind.is_dir() => Some("it is a folder, not a file"),
        () if kind.is_file() || is_pipe(kind) || is_terminal || is_socket(kind) => None,
        () => Some("it is a device, not a file"),
    }
}

#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

#[cfg(unix)]
fn is_pipe(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(unix)]
fn is_socket(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&kind)
}

/// Elsewhere what is neither file nor folder is a pipe.
#[cfg(not(unix))]
fn is_pipe(kind: FileType) -> bool {
    !kind.is_file() && !kind.is_dir()
}

#[cfg(not(unix))]
fn is_socket(_: FileType) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn problem(path: &Path) -> String {
        read(path, Bytes(16)).unwrap_err().to_string()
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(problem(folder.path()), "it is a folder, not a file");
        for device in ["/dev/zero", "/dev/random", "/dev/null"] {
            assert_eq!(problem(Path::new(device)), "it is a device, not a file", "{device}");
        }
        let sparse = folder.path().join("sparse");
        File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(problem(&sparse), "it is larger than 16 B, the most that is read here");
    }

    #[test]
    fn a_pipe_is_read_while_somebody_writes() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::write(pipe, "short")
        });
        assert_eq!(read_text(&pipe, Bytes(16)).unwrap(), "short");
        writer.join().unwrap().unwrap();
        assert_eq!(problem(&pipe), "nobody has written to this pipe for 5 s");
    }
}
