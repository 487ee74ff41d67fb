//! Where measured profiles are kept: one JSON file a number of threads, in the user's cache directory.
//!
//! A file that another machine or another version wrote, or that is damaged, is not used; the reason is told and the
//! next calibration replaces it.

use crate::calibrate::machine;
use plimsoll_plan::Profile;
use plimsoll_state::whole_file;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A directory with profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileCache {
    directory: PathBuf,
}

/// Why a profile that is there is not used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum StaleProfile {
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} is damaged: {problem}", .path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error("{} is of another machine or version: {found}", .path.display())]
    Foreign { path: PathBuf, found: String },
}

/// The profile that was measured with so many threads, or the typical one; with it, why a measured one was not used.
pub fn cached_profile(threads: usize) -> (Profile, Option<StaleProfile>) {
    let loaded = ProfileCache::of_user().map_or(Ok(None), |cache| cache.load(threads));
    match loaded {
        Ok(Some(profile)) => (profile, None),
        Ok(None) => (Profile::default(), None),
        Err(reason) => (Profile::default(), Some(reason)),
    }
}

impl ProfileCache {
    /// A cache in a directory of its own.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The user's: `$XDG_CACHE_HOME/plimsoll`, or `~/.cache/plimsoll`; none where neither is known.
    pub fn of_user() -> Option<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        cache_home(set("XDG_CACHE_HOME"), set("HOME")).map(|home| Self::new(home.join("plimsoll")))
    }

    /// The file for so many threads.
    pub fn path(&self, threads: usize) -> PathBuf {
        self.directory.join(format!("profile-{threads}.json"))
    }

    /// The profile for so many threads, if there is one.
    pub fn load(&self, threads: usize) -> Result<Option<Profile>, StaleProfile> {
        let path = self.path(threads);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StaleProfile::Unreadable { path, error }),
        };
        let damaged = |problem: String| StaleProfile::Damaged { path: path.clone(), problem };
        let profile: Profile = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if profile.machine != machine() {
            return Err(StaleProfile::Foreign { path, found: profile.machine });
        }
        match profile.is_sound() && profile.threads == threads {
            true => Ok(Some(profile)),
            false => Err(damaged("its figures make no sense".to_string())),
        }
    }

    /// Makes the directory and sees whether files can be written there; worth asking before measuring.
    pub fn check_writable(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.directory)?;
        let probe = self.directory.join(format!("probe.{}.new", std::process::id()));
        std::fs::write(&probe, "")?;
        std::fs::remove_file(probe)
    }

    /// Writes a profile and says where. The file is there whole or not at all.
    pub fn store(&self, profile: &Profile) -> io::Result<PathBuf> {
        std::fs::create_dir_all(&self.directory)?;
        let path = self.path(profile.threads);
        let text = serde_json::to_string_pretty(profile).expect("a profile is plain data");
        whole_file::write(&path, |file| file.write_all(text.as_bytes()))?;
        Ok(path)
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// A relative `XDG_CACHE_HOME` is to be ignored, says the specification of these directories.
fn cache_home(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let xdg = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    xdg.or_else(|| home.map(|home| PathBuf::from(home).join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(threads: usize) -> Profile {
        Profile { machine: machine(), threads, calibrated: true, ..Profile::default() }
    }

    #[test]
    fn the_cache_is_where_the_user_wants_it() {
        let some = |text: &str| Some(OsString::from(text));
        assert_eq!(cache_home(some("/x"), some("/users/me")), Some("/x".into()));
        assert_eq!(cache_home(some("x"), some("/users/me")), Some("/users/me/.cache".into()));
        assert_eq!(cache_home(None, some("/users/me")), Some("/users/me/.cache".into()));
        assert_eq!(cache_home(None, None), None);
    }

    #[test]
    fn what_is_stored_is_loaded_for_the_same_number_of_threads() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ProfileCache::new(directory.path().join("deep"));
        assert!(cache.load(2).unwrap().is_none());
        cache.check_writable().unwrap();
        let path = cache.store(&profile(2)).unwrap();
        assert_eq!(path, cache.path(2));
        assert_eq!(cache.load(2).unwrap(), Some(profile(2)));
        assert!(cache.load(3).unwrap().is_none());
        let left: Vec<_> = std::fs::read_dir(cache.directory()).unwrap().collect();
        assert_eq!(left.len(), 1, "no draft is left");
    }

    #[test]
    fn a_place_that_is_a_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(ProfileCache::new(file.path()).check_writable().is_err());
        assert!(ProfileCache::new(file.path()).store(&profile(1)).is_err());
    }

    #[test]
    fn profiles_of_others_and_damaged_ones_are_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ProfileCache::new(directory.path());
        cache.store(&Profile { machine: "another".to_string(), ..profile(2) }).unwrap();
        assert!(matches!(cache.load(2), Err(StaleProfile::Foreign { .. })));
        let mut absurd = profile(2);
        absurd.costs.values_mut().for_each(|cost| cost.op = -1.0);
        cache.store(&absurd).unwrap();
        assert!(matches!(cache.load(2), Err(StaleProfile::Damaged { .. })));
        std::fs::write(cache.path(2), "{\"machine\": \"cut o").unwrap();
        assert!(matches!(cache.load(2), Err(StaleProfile::Damaged { .. })));
        cache.store(&profile(2)).unwrap();
        assert!(cache.load(2).unwrap().is_some());
    }
}
