//! Text from outside, made safe to look at: whatever a terminal would obey instead of showing is written as an escape.
//!
//! Names in models, lines of logs and labels of traces are whatever their file says. A terminal obeys control
//! characters; those of Unicode that turn the direction of writing or take no room make a text look like another one.

use std::borrow::Cow;

/// Text of several lines; line breaks and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && c != '\t' && is_hidden(c))
}

/// Text that is one line, whatever it says: line breaks and tabs are escaped, too.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// Whether a character is obeyed, or not seen, where it should be read.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            // Marks, embeddings, overrides and isolates of direction.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Breaks of lines and paragraphs, and what has no width.
            | '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{2060}' | '\u{feff}'
            // Invisible copies of ASCII.
            | '\u{e0000}'..='\u{e007f}'
        )
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_escaped(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(text("a\u{1b}[2Jb\x07\r\n\tc\u{9b}1m\x7f"), "a\\u{1b}[2Jb\\u{7}\\r\n\tc\\u{9b}1m\\u{7f}");
        assert_eq!(line("a\nhint: b\t"), "a\\nhint: b\\t");
        assert_eq!(line("\u{202e}gnp.exe\u{2066}\u{200b}"), "\\u{202e}gnp.exe\\u{2066}\\u{200b}");
    }

    #[test]
    fn what_people_write_stays() {
        for plain in ["conv1/kernel", "größer · 3 µs", "模型", "C:\\x \"y\"", "█▉ ▏", "👩\u{200d}🔬"]
        {
            assert!(matches!(line(plain), Cow::Borrowed(same) if same == plain), "{plain}");
        }
    }
}
