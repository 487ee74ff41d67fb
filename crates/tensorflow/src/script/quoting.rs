//! Text from outside in Python: a literal that says exactly that text, whatever is in it.
//!
//! What a file or a person calls something may end a literal, begin a line, or look like something else. Everything but
//! printable ASCII, letters and digits is written as an escape, quotes and backslashes with a backslash, so the text
//! stays inside its literal, on its line, and means what it says in literals with one or three quotes.

/// A literal.
pub(super) fn literal(text: &str) -> String {
    format!("\"{}\"", inside(text))
}

/// What stands inside of a literal with double quotes, one or three.
pub(super) fn inside(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            ' '..='~' => quoted.push(c),
            _ if c.is_alphanumeric() => quoted.push(c),
            _ if (c as u32) <= 0xff => quoted += &format!("\\x{:02x}", c as u32),
            _ if (c as u32) <= 0xffff => quoted += &format!("\\u{:04x}", c as u32),
            _ => quoted += &format!("\\U{:08x}", c as u32),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_literal() {
        assert_eq!(literal("models/größe 1.keras"), "\"models/größe 1.keras\"");
        assert_eq!(literal("\"\"\"\nimport os\\"), r#""\"\"\"\nimport os\\""#);
        assert_eq!(literal("\r\u{85}\u{2028}\u{202e}\0😀"), r#""\x0d\x85\u2028\u202e\x00\U0001f600""#);
    }
}
