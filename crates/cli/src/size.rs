//! Sizes as they are written on the command line.

use plimsoll::Bytes;
use plimsoll::trace::Alignment;

/// A size such as `512MiB`.
pub fn size(text: &str) -> Result<Bytes, String> {
    text.parse::<Bytes>().map_err(|error| format!("{error}\n  hint: write it like 512MiB, 2GB or 1.5GiB"))
}

/// A power of two such as `256`.
pub fn alignment(text: &str) -> Result<Alignment, String> {
    Alignment::try_from(size(text)?.0)
}
