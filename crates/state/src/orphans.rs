//! Files that were being written when their process was killed: whoever writes beside them later removes them.

use std::path::Path;
use std::time::Duration;

/// A file that is being written changes all the time; one that has not for so long is written by nobody, here or on
/// another machine that shares the folder.
const LONG: Duration = Duration::from_secs(600);

/// Removes files in a folder that processes of ours began to write and cannot end, because they are dead.
pub(crate) fn remove(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        let old = || entry.metadata().ok().filter(|about| about.is_file())?.modified().ok()?.elapsed().ok();
        if owner.is_some_and(is_dead) && old().is_some_and(|age| age > LONG) {
            // What cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// What a file is called while a process writes it: `.plimsoll-123-0.part`.
pub(crate) fn name(process: u32, number: u32) -> String {
    format!(".plimsoll-{process}-{number}.part")
}

/// The process that writes a file of this name, if one of ours would.
fn owner(name: &str) -> Option<u32> {
    let (process, number) = name.strip_prefix(".plimsoll-")?.strip_suffix(".part")?.split_once('-')?;
    number.parse::<u32>().ok()?;
    process.parse().ok()
}

/// Whether there is no such process, where the system tells.
fn is_dead(process: u32) -> bool {
    Path::new("/proc/self").exists() && !Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::SystemTime;

    #[test]
    fn only_what_the_dead_have_left_long_ago_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, age: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        // No system gives so large a number to a process.
        file(".plimsoll-4294967295-0.part", 3600);
        let kept = [
            (".plimsoll-4294967294-0.part".to_string(), 1),
            (name(std::process::id(), 0), 3600),
            (".plimsoll-4294967295-x.part".to_string(), 3600),
            ("plimsoll-4294967295-0.part".to_string(), 3600),
            (".other-4294967295-0.part".to_string(), 3600),
        ];
        kept.iter().for_each(|(name, age)| file(name, *age));
        remove(folder.path());
        let left = std::fs::read_dir(folder.path()).unwrap().flatten();
        let mut left: Vec<String> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
        let mut kept = kept.map(|(name, _)| name);
        left.sort();
        kept.sort();
        assert_eq!(left, kept);
        remove(Path::new("nowhere"));
    }
}
