//! Texts as tokens: a file for each sample in a folder for each class, or one text in windows of which the next token
//! is to be predicted.

use super::listing::{Listing, failed, open_sample};
use super::{Column, Content, Datum, Source, TokenRange};
use crate::room::Sizes;
use crate::tokens::{Counting, Tokenizer, Tokens};
use crate::{Account, Blob, FieldKind, InputError, Room, Settings, Stage, Taken};
use plimsoll_trace::Bytes;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Texts by class.
pub struct TextFolder {
    listing: Listing,
    tokenizer: Arc<Tokenizer>,
    columns: [Column; 2],
}

/// One text in windows.
pub struct TextWindows {
    /// Tokens of four bytes each, or a token each byte.
    tokens: Blob,
    width: usize,
    window: usize,
    count: usize,
    columns: [Column; 2],
}

/// The longest text of one sample.
const LONGEST: u64 = 16 << 20;

/// How text files are called.
pub(crate) const TEXTS: [&str; 1] = ["txt"];

impl TextFolder {
    /// Lists the texts of a folder, one class for each folder in it; or of the classes of another part of the same
    /// data, whose words have numbers already.
    pub fn open(
        root: &Path,
        like: Option<&Self>,
        settings: &Settings,
        account: &Arc<Account>,
    ) -> Result<Self, InputError> {
        let known = like.map(TextFolder::classes);
        let (listing, classes) = Listing::open(root, known, &TEXTS, account)?;
        if listing.count() == 0 {
            return Err(InputError::file(root, "there are no texts in it"));
        }
        let mut longest = 0;
        for sample in 0..listing.count() {
            longest = longest.max(open_sample(&listing.path(sample))?.1);
        }
        let tokenizer = match (like, settings.tokens) {
            (Some(like), _) => like.tokenizer.clone(),
            (None, Tokens::Bytes) => Arc::new(Tokenizer::Bytes),
            (None, Tokens::Words) => Arc::new(learn(&listing, settings, account)?),
        };
        let tokens = TokenRange { below: tokenizer.below(), window: None, longest };
        let columns = [
            Column::new("text", Some(FieldKind::Input), Content::Tokens(tokens)),
            Column::new("class", Some(FieldKind::Target), Content::Class(classes)),
        ];
        Ok(Self { listing, tokenizer, columns })
    }

    fn classes(&self) -> &[String] {
        let Content::Class(classes) = &self.columns[1].content else {
            unreachable!("the second column has classes")
        };
        classes
    }
}

/// Numbers the words of all texts.
fn learn(listing: &Listing, settings: &Settings, account: &Arc<Account>) -> Result<Tokenizer, InputError> {
    let mut counting = Counting::new(account);
    let mut room = Room::new(account);
    for sample in 0..listing.count() {
        let length = load(&listing.path(sample), 0, &mut room)?;
        counting.add(&mut room.file[..length])?;
    }
    counting.finish(settings.vocabulary)
}

/// Reads a text behind so many bytes for each of its own; gives its length.
fn load(path: &Path, before: u64, room: &mut Room) -> Result<usize, InputError> {
    let (mut file, length) = open_sample(path)?;
    if length > LONGEST {
        let problem = format!("the text has {}, more than {}", Bytes(length), Bytes(LONGEST));
        return Err(InputError::sample(path.display().to_string(), problem));
    }
    let size = length * (before + 1);
    room.fit(Sizes { file: size, ..Sizes::default() }, &|| path.display().to_string())?;
    let start = (length * before) as usize;
    let read = room.timed(Stage::Read, |room| file.read_exact(&mut room.file(size as usize)[start..]));
    read.map_err(|error| failed(path, error))?;
    Ok(length as usize)
}

impl Source for TextFolder {
    fn count(&self) -> usize {
        self.listing.count()
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        if column == 1 {
            return Ok(Datum::Class(self.listing.class(sample)));
        }
        // Tokens are written before the text, which has as many of them at most.
        let length = load(&self.listing.path(sample), 4, room)?;
        let bytes = room.timed(Stage::Decode, |room| {
            let (tokens, text) = room.file[..5 * length].split_at_mut(4 * length);
            self.tokenizer.encode(text, tokens)
        });
        Ok(Datum::Numbers(bytes))
    }

    fn place(&self, sample: usize) -> String {
        self.listing.path(sample).display().to_string()
    }
}

impl TextWindows {
    /// Cuts a text into windows. Its bytes are read when they are wanted; words are numbered and held in memory.
    pub fn open(path: &Path, settings: &Settings, account: &Arc<Account>) -> Result<Self, InputError> {
        let Some(window) = settings.window else {
            let hint =
                "say it in a data.toml beside the path: window = 128, as many tokens as the model reads";
            return Err(InputError::file_with(path, "nobody says how many tokens a sample of it has", hint));
        };
        let text = Blob::open(path, account)?;
        let (tokens, width, below) = match settings.tokens {
            Tokens::Bytes => (text, 1, Tokenizer::Bytes.below()),
            Tokens::Words => {
                let (tokens, below) = numbered(&text, settings, account)?;
                (tokens, 4, below)
            }
        };
        let length = tokens.length() as usize / width;
        let count = length.saturating_sub(1) / window;
        if count == 0 {
            let problem = format!("it has {length} tokens: a window of {window} and the next token are more");
            return Err(InputError::file(path, problem));
        }
        let range = TokenRange { below, window: Some(window), longest: 0 };
        let columns = [
            Column::new("text", Some(FieldKind::Input), Content::Tokens(range)),
            Column::new("next", Some(FieldKind::Target), Content::Tokens(range)),
        ];
        Ok(Self { tokens, width, window, count, columns })
    }

    /// How many tokens at the end are in no window.
    pub fn left_over(&self) -> usize {
        self.tokens.length() as usize / self.width - 1 - self.count * self.window
    }
}

impl Source for TextWindows {
    fn count(&self) -> usize {
        self.count
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        // What is to be predicted stands one token further on.
        let start = ((sample * self.window + column) * self.width) as u64;
        let (bytes, stored) = (4 * self.window, self.width * self.window);
        room.fit(Sizes { file: bytes as u64, ..Sizes::default() }, &|| self.place(sample))?;
        let read = |room: &mut Room| self.tokens.read(start, &mut room.file(bytes)[bytes - stored..]);
        room.timed(Stage::Read, read)?;
        if self.width == 1 {
            for token in 0..self.window {
                let number = u32::from(room.file[3 * self.window + token]);
                room.file[4 * token..4 * token + 4].copy_from_slice(&number.to_le_bytes());
            }
        }
        Ok(Datum::Numbers(bytes))
    }

    fn place(&self, sample: usize) -> String {
        format!("{}, window {}", self.tokens.path().display(), sample + 1)
    }
}

/// The words of a text as numbers in memory, and one more than the largest.
fn numbered(text: &Blob, settings: &Settings, account: &Arc<Account>) -> Result<(Blob, usize), InputError> {
    let length = text.length();
    let _reading: Taken = account.hold("a text", Bytes(length))?;
    let whole = || {
        let mut bytes = vec![0; length as usize];
        text.read(0, &mut bytes).map(|()| bytes)
    };
    let mut counting = Counting::new(account);
    counting.add(&mut whole()?)?;
    let tokenizer = counting.finish(settings.vocabulary)?;
    // A word and the space behind it are two bytes at least.
    let most = 4 * length.div_ceil(2);
    let mut taken = account.hold("the words of a text", Bytes(most))?;
    let mut tokens = vec![0; most as usize];
    let written = tokenizer.encode(&mut whole()?, &mut tokens);
    tokens.truncate(written);
    tokens.shrink_to_fit();
    taken.shrink(Bytes(written as u64));
    Ok((Blob::memory(text.path(), tokens, taken), tokenizer.below()))
}
