//! Looking for words in bytes.

use memchr::memmem;

/// What follows the first occurrence of some words.
pub(crate) fn find<'a>(text: &'a [u8], words: &[u8]) -> Option<&'a [u8]> {
    memmem::find(text, words).map(|at| &text[at + words.len()..])
}

/// What stands before the first of some bytes, as text of at most 300 characters.
pub(crate) fn text_until(text: &[u8], ends: &[u8]) -> String {
    let end =
        text.iter().position(|byte| ends.contains(byte) || byte.is_ascii_control()).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).chars().take(300).collect()
}
