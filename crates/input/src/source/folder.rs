//! Folders of images: a folder for each class, with images in it or in folders below.

use super::{Column, Content, Datum, Images, Source};
use crate::blob::open_file;
use crate::image::{Header, probe};
use crate::room::Sizes;
use crate::{Account, FieldKind, InputError, OnBadSample, Room, Settings, Stage, Taken};
use plimsoll_trace::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Images by class.
pub struct ImageFolder {
    root: PathBuf,
    columns: [Column; 2],
    /// The paths of all files from the root, one after the other, by class; and where each ends.
    names: String,
    ends: Vec<u64>,
    /// The first sample of each class.
    starts: Vec<usize>,
    /// Files that are no images.
    others: usize,
    _taken: Taken,
}

/// How deep folders may lie in each other.
const MOST_LEVELS: usize = 16;

/// What an image file is called at its end: those that are read, and those that are not.
const READ: [&str; 3] = ["jpg", "jpeg", "png"];
const UNREAD: [&str; 8] = ["gif", "bmp", "webp", "tif", "tiff", "heic", "avif", "jp2"];

impl ImageFolder {
    /// Lists the images of a folder, one class for each folder in it, in the order of their names; or of the classes
    /// that another part of the same data has.
    pub fn open(
        root: &Path,
        classes: Option<&[String]>,
        settings: &Settings,
        account: &Arc<Account>,
    ) -> Result<Self, InputError> {
        let found = folders(root)?;
        let classes = match classes {
            None => found,
            Some(known) => same_classes(root, known, found)?,
        };
        let mut listing = Listing::default();
        let mut starts = Vec::new();
        for class in &classes {
            starts.push(listing.ends.len());
            listing.add(root, class)?;
        }
        if listing.ends.is_empty() {
            let problem = "there are no images in it";
            return Err(InputError::file_with(
                root,
                problem,
                "JPEG and PNG are read, in a folder for each class",
            ));
        }
        let Listing { names, ends, others } = listing;
        let bytes = Bytes((names.len() + 8 * ends.len()) as u64);
        let taken = account.hold(&format!("the list of {} images", ends.len()), bytes)?;
        let images = Content::Images(Images::new());
        let columns = [
            Column::new("image", Some(FieldKind::Input), images),
            Column::new("class", Some(FieldKind::Target), Content::Class(classes)),
        ];
        let mut folder =
            Self { root: root.to_path_buf(), columns, names, ends, starts, others, _taken: taken };
        let images = folder.look(settings)?;
        folder.columns[0].content = Content::Images(images);
        Ok(folder)
    }

    /// How many files are no images.
    pub fn others(&self) -> usize {
        self.others
    }

    /// How many images each class has.
    pub fn class_sizes(&self) -> Vec<usize> {
        let ends = self.starts.iter().skip(1).copied().chain([self.count()]);
        self.starts.iter().zip(ends).map(|(start, end)| end - start).collect()
    }

    fn path(&self, sample: usize) -> PathBuf {
        let end = |sample: usize| self.ends[sample] as usize;
        let start = if sample == 0 { 0 } else { end(sample - 1) };
        self.root.join(&self.names[start..end(sample)])
    }

    /// Looks at what all images say about themselves, on several threads.
    fn look(&self, settings: &Settings) -> Result<Images, InputError> {
        let threads = settings.threads.clamp(1, 16);
        let share = self.count().div_ceil(threads);
        let looked = std::thread::scope(|scope| {
            let parts = (0..threads).map(|part| {
                let samples = part * share..((part + 1) * share).min(self.count());
                scope.spawn(move || {
                    let mut images = Images::new();
                    for sample in samples {
                        match self.header(sample) {
                            Ok((header, bytes)) => images.add(header, bytes),
                            Err(error) if settings.on_bad_sample == OnBadSample::Stop => return Err(error),
                            Err(_) => {}
                        }
                    }
                    Ok(images)
                })
            });
            let parts: Vec<_> = parts.collect();
            parts.into_iter().map(|part| part.join().expect("looking does not panic")).collect::<Vec<_>>()
        });
        looked.into_iter().try_fold(Images::new(), |all, part| Ok(all.and(&part?)))
    }

    fn header(&self, sample: usize) -> Result<(Header, u64), InputError> {
        let path = self.path(sample);
        let failed = |problem: String| InputError::sample(path.display().to_string(), problem);
        let (file, length) = self.file(&path)?;
        let blob = FileHead::new(file);
        let header = probe(&|offset, into| blob.read(offset, into)).map_err(failed)?;
        Ok((header, length))
    }

    fn file(&self, path: &Path) -> Result<(File, u64), InputError> {
        let of_sample = |error: InputError| match error {
            InputError::File { path, problem, .. } => InputError::Sample { place: path, problem },
            other => other,
        };
        let file = open_file(path).map_err(of_sample)?;
        let failed = |error| InputError::sample(path.display().to_string(), error);
        let length = file.metadata().map_err(failed)?.len();
        Ok((file, length))
    }
}

impl Source for ImageFolder {
    fn count(&self) -> usize {
        self.ends.len()
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        if column == 1 {
            return Ok(Datum::Class(self.starts.partition_point(|start| *start <= sample) - 1));
        }
        let path = self.path(sample);
        let (mut file, length) = self.file(&path)?;
        room.fit(Sizes { file: length, ..Sizes::default() }, &|| path.display().to_string())?;
        let failed = |error: std::io::Error| {
            let problem = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "it was cut off while it was read".to_string(),
                _ => error.to_string(),
            };
            InputError::sample(path.display().to_string(), problem)
        };
        room.timed(Stage::Read, |room| file.read_exact(room.file(length as usize))).map_err(failed)?;
        Ok(Datum::Image(length as usize))
    }

    fn place(&self, sample: usize) -> String {
        self.path(sample).display().to_string()
    }
}

impl Images {
    pub(crate) fn new() -> Self {
        Self { worst: None, sides: None, channels: [0; 4], deep: 0, turned: 0 }
    }

    pub(crate) fn add(&mut self, header: Header, bytes: u64) {
        let Header { width, height, channels, bits, orientation, .. } = header;
        let mut one = Self::new();
        one.worst = Some((header, bytes));
        one.sides = Some([(width, height); 2]);
        one.channels[usize::from(channels.clamp(1, 4)) - 1] = 1;
        (one.deep, one.turned) = (usize::from(bits == 16), usize::from(orientation != 1));
        *self = self.and(&one);
    }

    /// Both together.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let worst = match (self.worst, other.worst) {
            (Some((one, file)), Some((two, other_file))) => {
                let header = if one.demand() >= two.demand() { one } else { two };
                Some((header, file.max(other_file)))
            }
            (one, two) => one.or(two),
        };
        let sides = match (self.sides, other.sides) {
            (Some([small, large]), Some([smaller, larger])) => Some([
                (small.0.min(smaller.0), small.1.min(smaller.1)),
                (large.0.max(larger.0), large.1.max(larger.1)),
            ]),
            (one, two) => one.or(two),
        };
        let channels = std::array::from_fn(|at| self.channels[at] + other.channels[at]);
        Self { worst, sides, channels, deep: self.deep + other.deep, turned: self.turned + other.turned }
    }
}

#[derive(Default)]
struct Listing {
    names: String,
    ends: Vec<u64>,
    others: usize,
}

impl Listing {
    /// Adds the images of a class, in the order of their names.
    fn add(&mut self, root: &Path, class: &str) -> Result<(), InputError> {
        let mut found = Vec::new();
        if root.join(class).is_dir() {
            self.walk(root, class.to_string(), &mut found, 0)?;
        }
        found.sort_unstable();
        for name in found {
            self.names += &name;
            self.ends.push(self.names.len() as u64);
        }
        Ok(())
    }

    fn walk(
        &mut self,
        root: &Path,
        below: String,
        found: &mut Vec<String>,
        level: usize,
    ) -> Result<(), InputError> {
        let folder = root.join(&below);
        if level > MOST_LEVELS {
            return Err(InputError::file(&folder, format!("it lies more than {MOST_LEVELS} folders deep")));
        }
        for (name, is_folder) in entries(&folder)? {
            let path = format!("{below}/{name}");
            let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
            if is_folder {
                self.walk(root, path, found, level + 1)?;
            } else if READ.contains(&end.as_str()) || UNREAD.contains(&end.as_str()) {
                found.push(path);
            } else {
                self.others += 1;
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

/// A file of which the beginning is looked at in small pieces.
struct FileHead {
    file: File,
}

impl FileHead {
    fn new(file: File) -> Self {
        Self { file }
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        crate::blob::read_at(&self.file, offset, into).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "it is empty or cut off".to_string(),
            _ => error.to_string(),
        })
    }
}
