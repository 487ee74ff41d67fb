//! The text form of a trace: one line a label or event.
//!
//! ```text
//! trace 1
//! label "conv1/conv2d" "activation" "conv1" "conv2d"
//! 0 take 5 at 1024 bytes 4096 label 0
//! 3 free 5
//! ```
//! The number before an event is its time. Labels are numbered in the order of their lines. Strings are JSON.

use crate::{BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace};
use std::fmt::Write as _;

/// A line that is not what the text form wants there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TextError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// Writes a trace as text.
pub fn print(trace: &Trace) -> String {
    let mut text = "trace 1\n".to_string();
    for Label { value, role, layer, op } in &trace.labels {
        let strings =
            [value, role, layer, op].map(|s| serde_json::to_string(s).expect("a string is plain data"));
        let _ = writeln!(text, "label {}", strings.join(" "));
    }
    for event in &trace.events {
        let _ = match event {
            Event::Take { time, block, offset, bytes, label } => {
                let (at, bytes, label) = (offset.0, bytes.0, label.0);
                writeln!(text, "{} take {} at {at} bytes {bytes} label {label}", time.0, block.0)
            }
            Event::Free { time, block } => writeln!(text, "{} free {}", time.0, block.0),
        };
    }
    text
}

/// Reads what [`print()`] writes. Whether the events make sense is for `verify` to say.
pub fn parse(text: &str) -> Result<Trace, TextError> {
    let mut trace = Trace::default();
    let mut lines = text.lines().enumerate();
    let header = lines.next().map(|(_, line)| line.trim());
    if header != Some("trace 1") {
        return Err(TextError { line: 1, problem: "the first line must be `trace 1`".to_string() });
    }
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        parse_line(&mut trace, line.trim()).map_err(|problem| TextError { line: index + 1, problem })?;
    }
    Ok(trace)
}

fn parse_line(trace: &mut Trace, line: &str) -> Result<(), String> {
    if let Some(rest) = line.strip_prefix("label ") {
        let strings: Result<Vec<String>, _> = serde_json::Deserializer::from_str(rest).into_iter().collect();
        let strings = strings.map_err(|error| error.to_string())?;
        let [value, role, layer, op] = strings.try_into().map_err(|_| "a label has four strings")?;
        trace.labels.push(Label { value, role, layer, op });
        return Ok(());
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let event = match words[..] {
        [time, "take", block, "at", offset, "bytes", bytes, "label", label] => Event::Take {
            time: Time(number(time)?),
            block: BlockId(number(block)?),
            offset: Offset(number(offset)?),
            bytes: Bytes(number(bytes)?),
            label: LabelId(number(label)?),
        },
        [time, "free", block] => Event::Free { time: Time(number(time)?), block: BlockId(number(block)?) },
        _ => return Err(format!("`{line}` is neither a label nor an event")),
    };
    trace.events.push(event);
    Ok(())
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is no number that fits here"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let take =
            any::<(u32, u32, u64, u64, u32)>().prop_map(|(time, block, offset, bytes, label)| Event::Take {
                time: Time(time),
                block: BlockId(block),
                offset: Offset(offset),
                bytes: Bytes(bytes),
                label: LabelId(label),
            });
        let free = any::<(u32, u32)>()
            .prop_map(|(time, block)| Event::Free { time: Time(time), block: BlockId(block) });
        proptest::collection::vec(prop_oneof![take, free], 0..20)
    }

    proptest! {
        #[test]
        fn round_trips(events in events(), names in proptest::collection::vec(any::<String>(), 0..4)) {
            let labels = names.into_iter().map(|value| Label { value, ..Label::default() }).collect();
            let trace = Trace { labels, events };
            prop_assert_eq!(parse(&print(&trace)), Ok(trace));
        }

        #[test]
        fn any_text_is_an_error_or_a_trace(text in "(trace 1\n)?(label|[0-9]{0,3} (take|free) ?[0-9]{0,20}| |\n|\"){0,12}") {
            let _ = parse(&text);
        }
    }

    #[test]
    fn errors_name_the_line() {
        let error = parse("trace 1\n\n0 take x at 0 bytes 1 label 0\n").unwrap_err();
        assert_eq!(error.to_string(), "line 3: `x` is no number that fits here");
    }
}
