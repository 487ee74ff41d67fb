//! Which arrays and files are for what, by their names.

use super::Opened;
use crate::source::{Array, Arrays};
use crate::{FieldKind, InputError, Settings, Source};
use std::path::Path;
use std::sync::Arc;

/// A part of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    Train,
    Validation,
    Test,
}

impl Split {
    /// The part that a folder is, by its name.
    pub(super) fn of_folder(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "train" | "training" => Some(Self::Train),
            "val" | "valid" | "validation" | "dev" => Some(Self::Validation),
            "test" | "testing" => Some(Self::Test),
            _ => None,
        }
    }

    /// The part that a file or array belongs to, by a word of its name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let words = name.split(|c: char| !c.is_ascii_alphanumeric());
        words
            .into_iter()
            .find_map(|word| if word == "t10k" { Some(Self::Test) } else { Self::of_folder(word) })
    }
}

/// What an array is for, by its name without the part.
fn role(name: &str) -> Option<FieldKind> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let mut roles = words.filter_map(|word| match word.to_ascii_lowercase().as_str() {
        "x" | "image" | "images" | "input" | "inputs" | "feature" | "features" | "data" => {
            Some(FieldKind::Input)
        }
        "y" | "label" | "labels" | "target" | "targets" | "class" | "classes" => Some(FieldKind::Target),
        _ => None,
    });
    roles.next()
}

/// Arrays by their names: `x_train`, `y_train`, `x_test`, `y_test`, or `x` and `y`; others as they are called.
pub(super) fn npy_parts(
    path: &Path,
    arrays: Vec<(String, Array)>,
    settings: &Settings,
) -> Result<Opened, InputError> {
    let (mut train, mut test, mut validation, mut all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (name, array) in arrays {
        let part = match Split::of_name(&name) {
            Some(Split::Train) => &mut train,
            Some(Split::Test) => &mut test,
            Some(Split::Validation) => &mut validation,
            None => &mut all,
        };
        let role = match &settings.target {
            Some(target) if *target == name => Some(FieldKind::Target),
            _ => role(&name),
        };
        // Parts have the same columns, so that a name does not say the part.
        let words: Vec<&str> = name.split('_').filter(|word| Split::of_folder(word).is_none()).collect();
        part.push((words.join("_"), role, array));
    }
    let mut notes = Vec::new();
    if !train.is_empty() && !all.is_empty() {
        let names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
        notes.push(format!("arrays that belong to no part are not used: {}", names.join(", ")));
    }
    let train = Arrays::new(if train.is_empty() { all } else { train })?;
    if train.count() == 0 {
        return Err(InputError::file(path, "it has no arrays to learn from"));
    }
    let test = if test.is_empty() { validation } else { test };
    let test = (!test.is_empty()).then(|| Arrays::new(test)).transpose()?;
    if let Some(test) = &test {
        super::same_columns(&train, test, path)?;
    }
    let test = test.map(|test| Arc::new(test) as Arc<dyn Source>);
    Ok(Opened { kind: "arrays", train: Arc::new(train), test, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_part_and_role() {
        assert_eq!(Split::of_name("x_train"), Some(Split::Train));
        assert_eq!(Split::of_name("t10k-images-idx3-ubyte.gz"), Some(Split::Test));
        assert_eq!(Split::of_name("training_data"), Some(Split::Train));
        assert_eq!(Split::of_name("trainer"), None);
        assert_eq!(
            (role("x_train"), role("train_labels")),
            (Some(FieldKind::Input), Some(FieldKind::Target))
        );
        assert_eq!(role("height"), None);
    }
}
