//! Rust source cut into code and comments.
//!
//! Invariant: both have the lines and columns of the text they were cut from; what belongs elsewhere is blank.

/// The two views of a source text. Literals are in neither.
pub(crate) struct Views {
    pub(crate) code: String,
    pub(crate) comments: String,
}

/// Cuts `text` by a scan that knows literals and comments and nothing else of Rust.
pub(crate) fn cut(text: &str) -> Views {
    let mut views = Views { code: String::new(), comments: String::new() };
    let mut rest = text;
    while !rest.is_empty() {
        let (kind, length) = next(rest);
        let (token, after) = rest.split_at(length);
        let blank: String = token.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        views.code.push_str(if kind == Kind::Code { token } else { &blank });
        views.comments.push_str(if kind == Kind::Comment { token } else { &blank });
        rest = after;
    }
    views
}

/// Whether `word` stands in `line` with no letter, digit or `_` beside it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_name) && !after.starts_with(is_name)
    })
}

/// The letters of names.
pub(crate) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[derive(PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// The kind of what stands first, and its length in bytes.
fn next(rest: &str) -> (Kind, usize) {
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    if name > 0 {
        return match (&rest[..name], raw_string(&rest[name..])) {
            ("r" | "br" | "cr", Some(length)) => (Kind::Literal, name + length),
            _ => (Kind::Code, name),
        };
    }
    match rest.chars().next() {
        Some('"') => (Kind::Literal, closed_by('"', rest)),
        Some('\'') => character(rest),
        first => (Kind::Code, first.map_or(0, char::len_utf8)),
    }
}

/// The length of a block comment; block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        let (change, length) = match here {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        depth += change;
        at += length;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a raw string whose `#` or `"` stands first; none where it is a raw name, as in `r#type`.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", &rest[..hashes]);
    Some(body.find(&end).map_or(rest.len(), |at| hashes + 1 + at + end.len()))
}

/// The length of a literal that starts and ends with `quote`.
fn closed_by(quote: char, rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

/// A character, or the quote of a lifetime.
fn character(rest: &str) -> (Kind, usize) {
    let mut after = rest.chars().skip(1);
    match (after.next(), after.next()) {
        (Some('\\'), _) | (_, Some('\'')) => (Kind::Literal, closed_by('\'', rest)),
        _ => (Kind::Code, 1),
    }
}

#[test]
fn code_and_comments_are_told_apart() {
    let cases = [
        ("let a = 1; // why", "let a = 1;", "// why"),
        ("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */"),
        ("f(\"// \\\" no\", b'{') // '", "f( , b )", "// '"),
        ("r#\"a \" b\"# + r#type", "+ r#type", ""),
        ("fn f<'a>(x: &'a str, y: '\\'', z: 'é')", "fn f<'a>(x: &'a str, y: , z: )", ""),
        ("\"one\n{\" b", "b", ""),
    ];
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let places = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
    for (text, code, comments) in cases {
        let views = cut(text);
        assert_eq!(
            (words(&views.code), words(&views.comments)),
            (code.to_owned(), comments.to_owned()),
            "{text}"
        );
        assert_eq!((places(&views.code), places(&views.comments)), (places(text), places(text)), "{text}");
    }
}

#[test]
fn words_have_ends() {
    assert!(has_word("(unsafe {", "unsafe"));
    assert!(!has_word("allow(unsafe_code)", "unsafe"));
    assert!(!has_word("not_unsafe", "unsafe"));
}
