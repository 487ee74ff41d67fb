//! Files by class: a folder for each class, with files in it or in folders below.

use crate::blob::open_file;
use crate::{Account, InputError, Taken};
use plimsoll_trace::Bytes;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files by class.
pub(crate) struct Listing {
    root: PathBuf,
    /// The paths of all files from the root, one after the other, by class; and where each ends.
    names: String,
    ends: Vec<u64>,
    /// The first file of each class.
    starts: Vec<usize>,
    /// Files that are called otherwise.
    others: usize,
    _taken: Taken,
}

/// How deep folders may lie in each other.
const MOST_LEVELS: usize = 16;

impl Listing {
    /// Lists the files whose names end in one of some ways, one class for each folder, in the order of their names.
    /// Without classes that another part of the same data has, all folders are classes.
    pub(crate) fn open(
        root: &Path,
        known: Option<&[String]>,
        ends: &[&str],
        account: &Arc<Account>,
    ) -> Result<(Self, Vec<String>), InputError> {
        let found = folders(root)?;
        let classes = match known {
            None => found,
            Some(known) => same_classes(root, known, found)?,
        };
        let mut walk = Walk { ends, found: Vec::new(), others: 0 };
        let (mut names, mut places, mut starts) = (String::new(), Vec::new(), Vec::new());
        for class in &classes {
            starts.push(places.len());
            if root.join(class).is_dir() {
                walk.go(root, class.to_string(), 0)?;
            }
            walk.found.sort_unstable();
            for name in walk.found.drain(..) {
                names += &name;
                places.push(names.len() as u64);
            }
        }
        let bytes = Bytes((names.len() + 8 * places.len()) as u64);
        let taken = account.hold(&format!("the list of {} files", places.len()), bytes)?;
        let root = root.to_path_buf();
        let listing = Self { root, names, ends: places, starts, others: walk.others, _taken: taken };
        Ok((listing, classes))
    }

    /// How many files there are.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// How many files are called otherwise.
    pub(crate) fn others(&self) -> usize {
        self.others
    }

    /// How many files each class has.
    pub(crate) fn class_sizes(&self) -> Vec<usize> {
        let ends = self.starts.iter().skip(1).copied().chain([self.count()]);
        self.starts.iter().zip(ends).map(|(start, end)| end - start).collect()
    }

    /// The class of a file.
    pub(crate) fn class(&self, file: usize) -> usize {
        self.starts.partition_point(|start| *start <= file) - 1
    }

    /// Where a file is.
    pub(crate) fn path(&self, file: usize) -> PathBuf {
        let end = |file: usize| self.ends[file] as usize;
        let start = if file == 0 { 0 } else { end(file - 1) };
        self.root.join(&self.names[start..end(file)])
    }
}

/// A file of one sample and its length.
pub(crate) fn open_sample(path: &Path) -> Result<(File, u64), InputError> {
    let of_sample = |error: InputError| match error {
        InputError::File { path, problem, .. } => InputError::Sample { place: path, problem },
        other => other,
    };
    let file = open_file(path).map_err(of_sample)?;
    let length = file.metadata().map_err(|error| failed(path, error))?.len();
    Ok((file, length))
}

/// Why the file of a sample cannot be read.
pub(crate) fn failed(path: &Path, error: std::io::Error) -> InputError {
    let problem = match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it was cut off while it was read".to_string(),
        _ => error.to_string(),
    };
    InputError::sample(path.display().to_string(), problem)
}

struct Walk<'a> {
    ends: &'a [&'a str],
    found: Vec<String>,
    others: usize,
}

impl Walk<'_> {
    fn go(&mut self, root: &Path, below: String, level: usize) -> Result<(), InputError> {
        let folder = root.join(&below);
        if level > MOST_LEVELS {
            return Err(InputError::file(&folder, format!("it lies more than {MOST_LEVELS} folders deep")));
        }
        for (name, is_folder) in entries(&folder)? {
            let path = format!("{below}/{name}");
            let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
            match is_folder {
                true => self.go(root, path, level + 1)?,
                false if self.ends.contains(&end.as_str()) => self.found.push(path),
                false => self.others += 1,
            }
        }
        Ok(())
    }
}

/// What stands in a folder and is not hidden: names, and whether they are folders.
pub(crate) fn entries(folder: &Path) -> Result<Vec<(String, bool)>, InputError> {
    let failed = |error| InputError::file(folder, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|name| InputError::file(&folder.join(name), "its name is no UTF-8 text"))?;
        if name.starts_with('.') {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        // A link to a folder may lead back here.
        let is_link = kind.is_symlink();
        match is_link && entry.path().is_dir() {
            true => {
                return Err(InputError::file(
                    &entry.path(),
                    "it is a link to a folder, which is not followed",
                ));
            }
            false => found.push((name, kind.is_dir())),
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The folders in a folder, by name.
pub(crate) fn folders(root: &Path) -> Result<Vec<String>, InputError> {
    let found = entries(root)?.into_iter().filter(|(_, is_folder)| *is_folder).map(|(name, _)| name);
    Ok(found.collect())
}

/// Parts of one data set have the same classes; a part may lack some.
fn same_classes(root: &Path, known: &[String], found: Vec<String>) -> Result<Vec<String>, InputError> {
    match found.iter().find(|class| !known.contains(class)) {
        Some(class) => {
            let problem =
                format!("the class `{class}` is not among those that are learned: {}", known.join(", "));
            Err(InputError::file(root, problem))
        }
        None => Ok(known.to_vec()),
    }
}
