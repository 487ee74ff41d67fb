//! Everything that is said: data on standard output, all else on standard error.
//!
//! A reader who has gone (`| head`) is no failure: what is left is not printed, the command goes on to its end, so that
//! a run is saved, and its exit code is its verdict. Anything else that keeps data from being written is an error.
//!
//! Names and lines from files are shown, never obeyed: control characters are escaped here, in whatever is printed for
//! people and in JSON.

use crate::failure::Failure;
use plimsoll::state::whole_file;
use plimsoll::trace::visible;
use serde::Serialize;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Prints what a command found: as one JSON object, or as text.
pub fn report(json: bool, report: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    Channel::Output.report(json, report, text)
}

/// Prints text for people, with a line break at its end.
pub fn text(text: &str) -> Result<(), Failure> {
    Channel::Output.text(text)
}

/// Prints one JSON object.
pub fn json(report: &impl Serialize) -> Result<(), Failure> {
    Channel::Output.report(true, report, String::new)
}

/// Prints text that was made visible before it was painted.
pub fn painted(text: &str) -> Result<(), Failure> {
    to_output(text.as_bytes())
}

/// Prints a document as it is, for a file or another program; a terminal is not trusted with it.
pub fn document(text: &str) -> Result<(), Failure> {
    match io::stdout().is_terminal() {
        true => to_output(visible::text(text).as_bytes()),
        false => to_output(text.as_bytes()),
    }
}

/// Writes a file, whole or not at all; `-` is standard output.
pub fn file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fill(path, |file| file.write_all(bytes))
}

/// Writes a file piece by piece, whole or not at all; `-` is standard output, and a terminal is not trusted with it.
pub fn fill<T>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, Failure> {
    if path == Path::new("-") && io::stdout().is_terminal() {
        let mut bytes = Vec::new();
        let filled = fill(&mut bytes).expect("memory takes what is written");
        return document(&String::from_utf8_lossy(&bytes)).map(|()| filled);
    }
    let mut filled = None;
    let written = whole_file::write(path, |file| {
        filled = Some(fill(file)?);
        Ok(())
    });
    let failed = |error: io::Error| Failure::usage(format!("cannot write {}: {error}", path.display()), None);
    written.map(|()| filled.expect("what is written was filled")).map_err(failed)
}

/// Tells something that is not data, with a line break at its end. Who does not listen misses it.
pub fn tell(text: impl AsRef<str>) {
    let text = visible::text(text.as_ref()).into_owned() + "\n";
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Tells something about what stands in a file: one line, whatever it says.
pub fn note(text: impl AsRef<str>) {
    tell(format!("note: {}", visible::line(text.as_ref())));
}

/// Where the report of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Output,
    /// Standard error, because a file that was asked for takes standard output.
    Beside,
}

impl Channel {
    /// Where a report goes beside the files that a command writes; `-` is standard output, which has room for one.
    pub fn beside(files: &[Option<&Path>], json: bool) -> Result<Self, Failure> {
        let taken = files.iter().flatten().filter(|path| **path == Path::new("-")).count();
        match taken + usize::from(json) {
            0 => Ok(Self::Output),
            1 if json => Ok(Self::Output),
            1 => Ok(Self::Beside),
            _ => {
                let hint = "`-` is standard output; give all but one a file of their own".to_string();
                Err(Failure::usage("standard output has room for one document", Some(hint)))
            }
        }
    }

    /// Prints what a command found: as one JSON object, or as text.
    pub fn report(
        self,
        json: bool,
        report: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match json {
            true => to_output(as_json(report).as_bytes()),
            false => self.text(&text()),
        }
    }

    /// Prints text for people, with a line break at its end.
    pub fn text(self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Output => to_output(format!("{}\n", visible::text(text.trim_end_matches('\n'))).as_bytes()),
            Self::Beside => {
                tell(text.trim_end_matches('\n'));
                Ok(())
            }
        }
    }
}

/// JSON with an escape for whatever a terminal would obey; who reads it as JSON gets the same texts.
pub fn visible_json(plain: &str) -> String {
    let mut json = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c != '\n' && visible::is_hidden(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| json += &format!("\\u{unit:04x}")),
            false => json.push(c),
        }
    }
    json
}

fn as_json(report: &impl Serialize) -> String {
    let plain = serde_json::to_string_pretty(report).expect("a report is plain data");
    visible_json(&plain) + "\n"
}

fn to_output(bytes: &[u8]) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    settled(output.write_all(bytes).and_then(|()| output.flush()))
}

/// Whether writing to standard output failed in a way that matters.
fn settled(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("cannot write to standard output: {error}"), None))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same_without_control_characters() {
        let names = ["a\u{1b}[2J", "\u{9b}1m", "\u{202e}x", "\x7f", "\u{e0041}", "größer\n"];
        let json = as_json(&names);
        assert!(!json.contains(|c: char| c != '\n' && visible::is_hidden(c)), "{json:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), names);
    }

    #[test]
    fn standard_output_has_room_for_one_document() {
        let (output, file) = (Path::new("-"), Path::new("a.html"));
        let channel = |files: &[Option<&Path>], json| Channel::beside(files, json).ok();
        assert_eq!(channel(&[Some(file), None], true), Some(Channel::Output));
        assert_eq!(channel(&[Some(file)], false), Some(Channel::Output));
        assert_eq!(channel(&[Some(output), Some(file)], false), Some(Channel::Beside));
        assert_eq!(channel(&[Some(output)], true), None);
        assert_eq!(channel(&[Some(output), Some(output)], false), None);
    }
}
