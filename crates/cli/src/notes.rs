//! Notes of the library, told on stderr.

use crate::output;
use plimsoll::Note;

/// How many notes about a file are shown.
const MOST: usize = 5;

/// Tells notes; of many about a file only some.
pub fn tell(notes: &[Note]) {
    let (file, others): (Vec<&Note>, Vec<&Note>) =
        notes.iter().partition(|note| matches!(note, Note::File(_)));
    file.iter().take(MOST).chain(&others).for_each(|note| output::note(note.to_string()));
    if file.len() > MOST {
        output::note(format!("and {} more about the file", file.len() - MOST));
    }
}
