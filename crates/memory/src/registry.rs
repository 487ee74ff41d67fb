//! What runs of ours have promised to take of this host's memory, so that two of them do not plan with the same bytes.
//!
//! A run is a small file in a folder of its user, locked for as long as it lives: the system takes a lock from whoever
//! dies, so a file that can be locked has no owner, and is removed by whoever finds it. Files are written and locked
//! before they get the name under which others look for them.
//!
//! It is advice, not a barrier: other users' runs are not seen, a folder that cannot be used means no registry, and
//! what stands in it may be anything and is believed only if it is a locked file of ours.

use crate::process;
use plimsoll_trace::Bytes;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What a file begins with.
const FORM: &str = "plimsoll-promise 1";
/// More than a file of ours has.
const LONGEST: u64 = 1 << 10;
/// More than there are runs on a machine.
const MOST_FILES: usize = 4096;
/// Whoever has the lock on this file may promise something.
const TURN: &str = "turn";
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);
/// A file that has had no owner and no name for so long will get none.
const NAMELESS: Duration = Duration::from_secs(60);

/// Where the runs of a user are written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    folder: PathBuf,
}

/// What somebody has promised to take at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The process.
    pub process: u32,
    /// What it runs.
    pub who: String,
    /// How much it will take.
    pub bytes: Bytes,
    /// How much it has by now, where the system tells.
    pub resident: Option<Bytes>,
}

/// A promise of this process; it ends when this is dropped.
#[derive(Debug)]
pub struct Promised {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Registry {
    /// That of the user: in `XDG_RUNTIME_DIR`, or in the folder for temporary files. Nothing where it cannot be had.
    pub fn of_user() -> Option<Self> {
        let folder = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_dir()) {
            Some(runtime) => PathBuf::from(runtime).join("plimsoll"),
            None => std::env::temp_dir().join(format!("plimsoll-{}", own_user()?)),
        };
        Self::at(folder).ok()
    }

    /// The one in a folder, which is made if it is not there, and must be nobody else's.
    pub fn at(folder: PathBuf) -> io::Result<Self> {
        make_private(&folder)?;
        Ok(Self { folder })
    }

    /// Writes down that this process will take so much for something, if `admit` agrees; nobody else promises anything
    /// meanwhile. Nothing where it cannot be written down.
    pub fn promise<E>(
        &self,
        who: &str,
        bytes: Bytes,
        admit: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Promised>, E> {
        let _turn = self.turn();
        admit()?;
        Ok(self.write(who, bytes).ok())
    }

    /// Waits for its turn, but not for ever: who stopped in the middle of theirs does not stop everybody.
    fn turn(&self) -> Option<File> {
        let file =
            File::options().create(true).truncate(false).write(true).open(self.folder.join(TURN)).ok()?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(_)) => return None,
            }
        }
        None
    }

    fn write(&self, who: &str, bytes: Bytes) -> io::Result<Promised> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}{}", own_prefix(), NEXT.fetch_add(1, Ordering::Relaxed));
        let (path, nameless) = (self.folder.join(&name), self.folder.join(format!(".{name}")));
        let mut file = File::create_new(&nameless)?;
        let who: String = who.chars().filter(|c| !c.is_control()).take(200).collect();
        let written = writeln!(file, "{FORM} {} {who}", bytes.0)
            .and_then(|()| file.try_lock().map_err(io::Error::from))
            .and_then(|()| fs::rename(&nameless, &path));
        match written {
            Ok(()) => Ok(Promised { path, _file: file }),
            Err(error) => {
                let _ = fs::remove_file(&nameless);
                Err(error)
            }
        }
    }

    /// What other processes have promised, in the order of their numbers. Files without an owner are removed.
    pub fn others(&self) -> Vec<Promise> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().take(MOST_FILES);
        let mut found: Vec<Promise> = entries.filter_map(|entry| look_at(&entry.path())).collect();
        found.sort_by(|a, b| (a.process, &a.who).cmp(&(b.process, &b.who)));
        found
    }
}

impl Promise {
    /// How much of it is still to be taken: what the process has already is no longer free anyway.
    pub fn outstanding(&self) -> Bytes {
        self.bytes.saturating_sub(self.resident.unwrap_or_default())
    }
}

impl Drop for Promised {
    fn drop(&mut self) {
        // If it cannot be removed, whoever finds it without a lock will.
        let _ = fs::remove_file(&self.path);
    }
}

/// A promise of another process that lives; removes what has no owner.
fn look_at(path: &Path) -> Option<Promise> {
    let name = path.file_name()?.to_str()?;
    let about = fs::symlink_metadata(path).ok()?;
    if !about.is_file() || !is_of_a_run(name) || name.trim_start_matches('.').starts_with(&own_prefix()) {
        return None;
    }
    let is_nameless = name.starts_with('.');
    if is_nameless && about.modified().ok()?.elapsed().ok()? < NAMELESS {
        return None;
    }
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = fs::remove_file(path);
            None
        }
        Err(TryLockError::WouldBlock) if !is_nameless => read(name, &file),
        Err(_) => None,
    }
}

fn read(name: &str, file: &File) -> Option<Promise> {
    let process = name.split('-').next()?.parse().ok()?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let (bytes, who) = text.strip_prefix(FORM)?.strip_prefix(' ')?.trim_end().split_once(' ')?;
    let who = who.chars().filter(|c| !c.is_control()).collect();
    Some(Promise { process, who, bytes: Bytes(bytes.parse().ok()?), resident: process::resident_of(process) })
}

/// Whether a file is called as we call them; what is not is nobody's business here.
fn is_of_a_run(name: &str) -> bool {
    let numbers: Vec<&str> = name.trim_start_matches('.').split('-').collect();
    numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u64>().is_ok())
}

/// What names of this process's files begin with: its number, and when it began, since numbers are used again.
fn own_prefix() -> String {
    format!("{}-{}-", std::process::id(), process::began().unwrap_or_default())
}

/// Makes a folder that only its user can write to, or says why it is none.
#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(folder)?;
    let is_ours = about.is_dir() && Some(about.uid()) == own_user() && about.mode() & 0o022 == 0;
    is_ours.then_some(()).ok_or_else(|| io::Error::from(io::ErrorKind::PermissionDenied))
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// The number of this process's user.
#[cfg(unix)]
fn own_user() -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").ok().map(|about| about.uid())
}

#[cfg(not(unix))]
fn own_user() -> Option<u32> {
    None
}
