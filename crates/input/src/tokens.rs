//! Text as numbers: its bytes, or its words by how frequent they are.

use crate::{Account, InputError, Taken};
use plimsoll_trace::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// What text is cut into, as a `data.toml` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// Bytes: each is its own number.
    #[default]
    Bytes,
    /// Words in small letters without punctuation, as `TextVectorization` of Keras has them: 0 is no word, 1 any word
    /// that is not known, then words from the most frequent on.
    Words,
}

/// Cuts text into tokens.
pub(crate) enum Tokenizer {
    Bytes,
    Words { numbers: HashMap<Box<[u8]>, u32>, _taken: Taken },
}

/// Words while they are counted.
pub(crate) struct Counting {
    account: Arc<Account>,
    counts: HashMap<Box<[u8]>, u64>,
    bytes: u64,
    taken: Vec<Taken>,
}

/// What an entry of a table of words takes beside the word.
const ENTRY: u64 = 80;

/// How much is taken at once while words are counted.
const PIECE: u64 = 1 << 20;

impl Tokenizer {
    /// One more than the largest number.
    pub(crate) fn below(&self) -> usize {
        match self {
            Self::Bytes => 256,
            Self::Words { numbers, .. } => numbers.len() + 2,
        }
    }

    /// Writes the numbers of a text, four bytes each, the low byte first; gives how many bytes these are. There are no
    /// more tokens than bytes.
    pub(crate) fn encode(&self, text: &mut [u8], into: &mut [u8]) -> usize {
        let mut at = 0;
        let mut put = |number: u32| {
            into[at..at + 4].copy_from_slice(&number.to_le_bytes());
            at += 4;
        };
        match self {
            Self::Bytes => text.iter().for_each(|byte| put(u32::from(*byte))),
            Self::Words { numbers, .. } => {
                words(text, |word| put(numbers.get(word).copied().unwrap_or(1)));
            }
        }
        at
    }
}

impl Counting {
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        Self { account: account.clone(), counts: HashMap::new(), bytes: 0, taken: Vec::new() }
    }

    /// Counts the words of a text, which is changed.
    pub(crate) fn add(&mut self, text: &mut [u8]) -> Result<(), InputError> {
        let mut result = Ok(());
        words(text, |word| {
            if let Some(count) = self.counts.get_mut(word) {
                *count += 1;
            } else if result.is_ok() {
                result = self.grow(word.len() as u64);
                self.counts.insert(word.into(), 1);
            }
        });
        result
    }

    fn grow(&mut self, length: u64) -> Result<(), InputError> {
        self.bytes += length + ENTRY;
        if self.bytes > PIECE * self.taken.len() as u64 {
            self.taken.push(self.account.hold("the words of the text", Bytes(PIECE))?);
        }
        Ok(())
    }

    /// The most frequent words, so that there are at most so many numbers. (Of words that are as frequent those later
    /// in the alphabet come first, as in Keras.)
    pub(crate) fn finish(self, most: usize) -> Result<Tokenizer, InputError> {
        let Self { account, counts, taken, .. } = self;
        let mut words: Vec<(u64, Box<[u8]>)> =
            counts.into_iter().map(|(word, count)| (count, word)).collect();
        words.sort_unstable_by(|one, two| two.cmp(one));
        words.truncate(most.saturating_sub(2));
        let bytes = words.iter().map(|(_, word)| word.len() as u64 + ENTRY).sum();
        drop(taken);
        let taken = account.hold("the vocabulary", Bytes(bytes))?;
        let numbers = words.into_iter().map(|(_, word)| word).zip(2..).collect();
        Ok(Tokenizer::Words { numbers, _taken: taken })
    }
}

/// The words of a text: capitals of ASCII become small, punctuation of ASCII is left out, and what is left is cut at
/// white space. Bytes outside of ASCII stay as they are.
fn words(text: &mut [u8], mut give: impl FnMut(&[u8])) {
    let mut start = 0;
    while start < text.len() {
        let end = text[start..].iter().position(|byte| is_space(*byte)).map_or(text.len(), |at| start + at);
        let mut length = 0;
        for at in start..end {
            if !text[at].is_ascii_punctuation() {
                text[start + length] = text[at].to_ascii_lowercase();
                length += 1;
            }
        }
        if length > 0 {
            give(&text[start..start + length]);
        }
        start = end + 1;
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_from_the_most_frequent_on() {
        let account = Account::new(Bytes::mib(4));
        let mut counting = Counting::new(&account);
        counting.add(&mut b"The cat -- the CAT's hat;\n\tthe  end.".to_vec()).unwrap();
        let tokenizer = counting.finish(4).unwrap();
        assert_eq!(tokenizer.below(), 4);
        let mut text = b"the hat, a cat! ... THE".to_vec();
        let mut numbers = vec![0; 4 * text.len()];
        let length = tokenizer.encode(&mut text, &mut numbers);
        let numbers: Vec<u8> = numbers[..length].chunks_exact(4).map(|four| four[0]).collect();
        // `the` comes three times; all others once, of which `hat` is the last in the alphabet.
        assert_eq!(numbers, [2, 3, 1, 1, 2]);
        drop(tokenizer);
        assert_eq!(account.in_use(), Bytes::ZERO);
        assert!(Counting::new(&Account::new(Bytes(9))).add(&mut b"word".to_vec()).is_err());
    }
}
