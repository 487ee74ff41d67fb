//! Folders of images: a folder for each class, with images in it or in folders below.

use super::listing::{Listing, failed, open_sample};
use super::{Column, Content, Datum, Images, Source};
use crate::image::{Header, probe};
use crate::room::Sizes;
use crate::{Account, FieldKind, InputError, OnBadSample, Room, Settings, Stage};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Images by class.
pub struct ImageFolder {
    listing: Listing,
    columns: [Column; 2],
}

/// How the names of images end: of those that are read, and of others, which are told by their contents.
pub(crate) const IMAGES: [&str; 11] =
    ["jpg", "jpeg", "png", "gif", "bmp", "webp", "tif", "tiff", "heic", "avif", "jp2"];

impl ImageFolder {
    /// Lists the images of a folder, one class for each folder in it, in the order of their names; or of the classes
    /// that another part of the same data has.
    pub fn open(
        root: &Path,
        classes: Option<&[String]>,
        settings: &Settings,
        account: &Arc<Account>,
    ) -> Result<Self, InputError> {
        let (listing, classes) = Listing::open(root, classes, &IMAGES, account)?;
        if listing.count() == 0 {
            let problem = "there are no images in it";
            return Err(InputError::file_with(
                root,
                problem,
                "JPEG and PNG are read, in a folder for each class",
            ));
        }
        let columns = [
            Column::new("image", Some(FieldKind::Input), Content::Images(Images::new())),
            Column::new("class", Some(FieldKind::Target), Content::Class(classes)),
        ];
        let mut folder = Self { listing, columns };
        let images = look(folder.count(), settings, &|sample| header(&folder.listing.path(sample)))?;
        folder.columns[0].content = Content::Images(images);
        Ok(folder)
    }

    /// How many files are no images.
    pub fn others(&self) -> usize {
        self.listing.others()
    }

    /// How many images each class has.
    pub fn class_sizes(&self) -> Vec<usize> {
        self.listing.class_sizes()
    }
}

/// Looks at what all images say about themselves, on several threads.
pub(super) fn look(
    count: usize,
    settings: &Settings,
    header: &(dyn Fn(usize) -> Result<(Header, u64), InputError> + Sync),
) -> Result<Images, InputError> {
    let threads = settings.threads.clamp(1, 16);
    let share = count.div_ceil(threads);
    let looked = std::thread::scope(|scope| {
        let parts = (0..threads).map(|part| {
            let samples = part * share..((part + 1) * share).min(count);
            scope.spawn(move || {
                let mut images = Images::new();
                for sample in samples {
                    match header(sample) {
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

/// What the image in a file says about itself, and how long the file is.
pub(super) fn header(path: &Path) -> Result<(Header, u64), InputError> {
    let (file, length) = open_sample(path)?;
    let header = probe(&|offset, into| read_head(&file, offset, into));
    let header = header.map_err(|problem| InputError::sample(path.display().to_string(), problem))?;
    Ok((header, length))
}

/// Reads the image in a file into the room.
pub(super) fn read_image(path: &Path, room: &mut Room) -> Result<Datum, InputError> {
    let (mut file, length) = open_sample(path)?;
    room.fit(Sizes { file: length, ..Sizes::default() }, &|| path.display().to_string())?;
    let read = room.timed(Stage::Read, |room| file.read_exact(room.file(length as usize)));
    read.map_err(|error| failed(path, error))?;
    Ok(Datum::Image(length as usize))
}

impl Source for ImageFolder {
    fn count(&self) -> usize {
        self.listing.count()
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        match column {
            1 => Ok(Datum::Class(self.listing.class(sample))),
            _ => read_image(&self.listing.path(sample), room),
        }
    }

    fn place(&self, sample: usize) -> String {
        self.listing.path(sample).display().to_string()
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

fn read_head(file: &File, offset: u64, into: &mut [u8]) -> Result<(), String> {
    crate::blob::read_at(file, offset, into).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it is empty or cut off".to_string(),
        _ => error.to_string(),
    })
}
