//! Lines without what colours them: terminals and notebooks put escape sequences between words.
//!
//! Notebooks are JSON, so the escape character may also be spelled, as `\u001b`, `\x1b` or `\033`.

/// Removes escape sequences in place; gives the length of what is left.
pub(crate) fn strip(line: &mut [u8]) -> usize {
    let Some(first) = memchr::memchr2(0x1b, b'\\', line) else { return line.len() };
    let (mut kept, mut at) = (first, first);
    while at < line.len() {
        match sequence(&line[at..]) {
            0 => {
                line[kept] = line[at];
                kept += 1;
                at += 1;
            }
            length => at += length,
        }
    }
    kept
}

/// How the escape character is written.
const ESCAPES: [&[u8]; 5] = [b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\033"];

/// The length of the escape sequence that some text begins with; 0 where it begins with none.
fn sequence(text: &[u8]) -> usize {
    let Some(escape) = ESCAPES.iter().find(|escape| text.starts_with(escape)) else { return 0 };
    let rest = &text[escape.len()..];
    let Some(parameters) = rest.strip_prefix(b"[") else {
        // A bare escape character is no text either; one that is only spelled may be data.
        return if escape.len() == 1 { 1 } else { 0 };
    };
    let end = parameters.iter().position(|byte| !(0x20..=0x3f).contains(byte));
    escape.len() + 1 + end.map_or(parameters.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> String {
        let mut line = text.as_bytes().to_vec();
        let length = strip(&mut line);
        String::from_utf8_lossy(&line[..length]).into_owned()
    }

    #[test]
    fn colours_go_and_words_stay() {
        let cases = [
            ("\x1b[0;31mResourceExhaustedError\x1b[0m: OOM", "ResourceExhaustedError: OOM"),
            (r"\u001b[0;31mOOM\u001b[0m when", "OOM when"),
            (r"\x1b[1;38;5;9mOOM\033[0m", "OOM"),
            ("\x1b[38;2;1;2;3m", ""),
            ("cut \x1b[31", "cut "),
            (r"C:\new\torch\optim\adam.py", r"C:\new\torch\optim\adam.py"),
            (r"a name with \u001b inside", r"a name with \u001b inside"),
            ("", ""),
            ("\x1b", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(stripped(text), expected, "{text:?}");
        }
    }
}
