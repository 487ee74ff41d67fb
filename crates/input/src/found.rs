//! What was found where somebody pointed to.

use crate::source::Images;
use crate::{Account, Content, FieldKind, InputError, PixelRange, Room, Settings, Source};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Data as they were found.
pub struct Found {
    /// Where.
    pub path: PathBuf,
    /// What kind of data these are, in a word or two.
    pub kind: &'static str,
    /// What is learned from.
    pub train: Arc<dyn Source>,
    /// What the result is judged by, if something is kept apart.
    pub test: Option<Arc<dyn Source>>,
    /// What should be known, although nothing is wrong.
    pub notes: Vec<String>,
    /// What was said about the data, in a `data.toml` too.
    pub settings: Settings,
}

/// A class and how many samples it has.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ClassCount {
    /// What it is called.
    pub name: String,
    /// How many samples it has.
    pub count: usize,
}

impl Found {
    /// The only shape that all inputs have, if they have one and there is one input.
    pub fn input_shape(&self) -> Option<Vec<usize>> {
        let inputs: Vec<_> =
            self.train.columns().iter().filter(|column| column.role == Some(FieldKind::Input)).collect();
        match &inputs[..] {
            [one] => match &one.content {
                Content::Numbers(numbers) if !numbers.shape.is_empty() => Some(numbers.shape.clone()),
                Content::Tokens(tokens) => tokens.window.map(|window| vec![window]),
                Content::Images(Images { sides: Some([small, large]), channels, .. }) if small == large => {
                    let colours = if channels[2] + channels[3] > 0 { 3 } else { 1 };
                    Some(vec![small.1 as usize, small.0 as usize, colours])
                }
                _ => None,
            },
            several => {
                let is_one = |content: &Content| matches!(content, Content::Numbers(numbers) if numbers.shape.is_empty());
                (several.len() > 1 && several.iter().all(|column| is_one(&column.content)))
                    .then(|| vec![several.len()])
            }
        }
    }

    /// The names of the classes, if samples have such.
    pub fn classes(&self) -> Option<&[String]> {
        let mut targets = self.train.columns().iter().filter(|column| column.role == Some(FieldKind::Target));
        match targets.next().map(|column| &column.content) {
            Some(Content::Class(names)) => Some(names),
            _ => None,
        }
    }

    /// Whether samples have brightness as it is stored: images, or bytes on two axes.
    pub fn has_pixels(&self) -> bool {
        self.train.columns().iter().any(|column| match &column.content {
            Content::Images(_) => true,
            Content::Numbers(numbers) => numbers.element == crate::Number::U8 && numbers.shape.len() >= 2,
            Content::Class(_) | Content::Text | Content::Tokens(_) => false,
        })
    }

    /// How many samples of what is learned from each class has; nothing where there are no classes.
    pub fn balance(&self, account: &Arc<Account>) -> Result<Option<Vec<ClassCount>>, InputError> {
        const MOST: usize = 10_000;
        let mut room = Room::new(account);
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        let names = self.classes();
        (0..names.map_or(0, <[String]>::len)).for_each(|class| _ = counts.insert(class, 0));
        for sample in 0..self.train.count() {
            match self.train.class(sample, &mut room)? {
                Some(class) => *counts.entry(class).or_default() += 1,
                None => return Ok(None),
            }
            if counts.len() > MOST {
                return Ok(None);
            }
        }
        let name = |class: usize| {
            names.and_then(|names| names.get(class).cloned()).unwrap_or_else(|| class.to_string())
        };
        Ok(Some(counts.into_iter().map(|(class, count)| ClassCount { name: name(class), count }).collect()))
    }

    /// One line: what kind, how many, which classes.
    pub fn headline(&self) -> String {
        let mut line = format!("{}: {}, {} samples", self.path.display(), self.kind, self.train.count());
        if let Some(test) = &self.test {
            line += &format!(" and {} to judge by", test.count());
        }
        if let Some(classes) = self.classes() {
            line += &format!(", {} classes: {}", classes.len(), some_of(classes));
        }
        line
    }

    /// What images there are, and what becomes of them.
    pub fn pictures(&self, range: PixelRange) -> Option<String> {
        let images = self.train.columns().iter().find_map(|column| match &column.content {
            Content::Images(images) => Some(images),
            _ => None,
        });
        let pixels = format!("pixels from {}", range.words());
        let Some(images) = images else { return self.has_pixels().then_some(pixels) };
        let [small, large] = images.sides?;
        let size = match small == large {
            true => format!("images of {}x{}", small.0, small.1),
            false => format!("images of {}x{} to {}x{}", small.0, small.1, large.0, large.1),
        };
        let kinds = ["grey", "grey with alpha", "in colour", "in colour with alpha"];
        let kinds: Vec<String> = kinds
            .iter()
            .zip(images.channels)
            .filter(|(_, count)| *count > 0)
            .map(
                |(kind, count)| {
                    if count == self.train.count() { kind.to_string() } else { format!("{count} {kind}") }
                },
            )
            .collect();
        let mut line = format!("{size}, {}", kinds.join(", "));
        if images.deep > 0 {
            line += &format!(", {} with 16 bits a channel", images.deep);
        }
        if images.turned > 0 {
            line += &format!(", {} are turned as they say", images.turned);
        }
        Some(format!("{line}; {pixels}"))
    }
}

/// The first of some names.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 6;
    match names.len() {
        count if count > SHOWN => format!("{}, ...", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}
