//! Folders of files by class: images or texts, in parts or in one.

use super::parts::Split;
use super::{Opened, end_of};
use crate::source::folder::IMAGES;
use crate::source::text::TEXTS;
use crate::source::{ImageFolder, TextFolder, listing};
use crate::{Account, Content, InputError, Settings, Source};
use std::path::Path;
use std::sync::Arc;

/// A folder for each class, or for each part and in it for each class.
pub(super) fn open_images(
    path: &Path,
    folders: &[String],
    settings: &Settings,
    account: &Arc<Account>,
) -> Result<Opened, InputError> {
    let part = |split: Split| folders.iter().find(|name| Split::of_folder(name) == Some(split));
    let Some(train) = part(Split::Train) else {
        let images = ImageFolder::open(path, None, settings, account)?;
        let notes = image_notes(&images);
        return Ok(Opened { notes, ..Opened::new("images", images) });
    };
    let train = ImageFolder::open(&path.join(train), None, settings, account)?;
    let mut notes = image_notes(&train);
    let Content::Class(classes) = &train.columns()[1].content else {
        unreachable!("the second column has classes")
    };
    let (test, validation) = (part(Split::Test), part(Split::Validation));
    if let (Some(test), Some(validation)) = (test, validation) {
        notes.push(format!("the result is judged by `{test}`; `{validation}` is not used"));
    }
    let judged =
        test.or(validation).map(|name| ImageFolder::open(&path.join(name), Some(classes), settings, account));
    let test = judged.transpose()?.map(|test| Arc::new(test) as Arc<dyn Source>);
    Ok(Opened { kind: "images", train: Arc::new(train), test, notes })
}

fn image_notes(images: &ImageFolder) -> Vec<String> {
    let Content::Class(classes) = &images.columns()[1].content else { return Vec::new() };
    let empty = classes.iter().zip(images.class_sizes()).filter(|(_, size)| *size == 0);
    let mut notes: Vec<String> =
        empty.map(|(class, _)| format!("the class `{class}` has no images")).collect();
    if images.others() > 0 {
        notes.push(format!("{} files are no images, by their names, and left aside", images.others()));
    }
    if classes.len() == 1 {
        notes.push(format!("there is only one class, `{}`", classes[0]));
    }
    notes
}

/// Texts, as images are: a folder for each class, or for each part and in it for each class.
pub(super) fn open_texts(
    path: &Path,
    folders: &[String],
    settings: &Settings,
    account: &Arc<Account>,
) -> Result<Opened, InputError> {
    let part = |split: Split| folders.iter().find(|name| Split::of_folder(name) == Some(split));
    let Some(train) = part(Split::Train) else {
        return Ok(Opened::new("texts", TextFolder::open(path, None, settings, account)?));
    };
    let train = TextFolder::open(&path.join(train), None, settings, account)?;
    let judged = part(Split::Test).or(part(Split::Validation));
    let judged = judged.map(|name| TextFolder::open(&path.join(name), Some(&train), settings, account));
    let test = judged.transpose()?.map(|test| Arc::new(test) as Arc<dyn Source>);
    Ok(Opened { test, ..Opened::new("texts", train) })
}

/// Whether the first file below a folder that is an image or a text is a text.
pub(super) fn has_texts(folder: &Path) -> Result<bool, InputError> {
    fn first(folder: &Path, level: usize) -> Result<Option<bool>, InputError> {
        for (name, is_folder) in listing::entries(folder)? {
            let found = match is_folder {
                true if level < 3 => first(&folder.join(&name), level + 1)?,
                true => None,
                false => {
                    let end = end_of(Path::new(&name));
                    let is_text = TEXTS.contains(&end.as_str());
                    (is_text || IMAGES.contains(&end.as_str())).then_some(is_text)
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
    Ok(first(folder, 0)? == Some(true))
}
