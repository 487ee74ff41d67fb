//! The text form of a trace: one line a label, event or mark, and one for each thing that is known about it.
//!
//! ```text
//! trace 1
//! title "mlp · batch 32"
//! limit 8388608
//! label "conv1/conv2d" "activation" "conv1" "conv2d"
//! step 1
//! clock 1500
//! 0 take 5 at 1024 bytes 4096 label 0
//! 3 free 5
//! step 2
//! again 0 count 2
//! region 0 bytes 2097152
//! refused 4096 label 0
//! evaluation
//! ```
//! The number before an event is its time. Labels are numbered in the order of their lines. Strings are JSON. A mark
//! stands where it happened among the events. A label of what is computed again ends in `again`; on a line of its own,
//! `again` names the first event that happens once more, counted from 0.

use crate::{About, BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace, What};
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

/// What the label of something ends with that is computed again.
const AGAIN: &str = " again";

/// Writes a trace as text.
pub fn print(trace: &Trace) -> String {
    let mut text = "trace 1\n".to_string();
    print_about(&mut text, &trace.about);
    for Label { value, role, layer, op, again } in &trace.labels {
        let strings = [value, role, layer, op].map(|s| quoted(s));
        let _ = writeln!(text, "label {}{}", strings.join(" "), if *again { AGAIN } else { "" });
    }
    let mut marks = trace.marks.iter().peekable();
    for (index, event) in trace.events.iter().enumerate() {
        while let Some(mark) = marks.next_if(|mark| mark.after <= index) {
            print_mark(&mut text, mark.what);
        }
        print_event(&mut text, event);
    }
    marks.for_each(|mark| print_mark(&mut text, mark.what));
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

/// Whether a line of the text form is an event: those begin with their time.
pub fn is_event(line: &str) -> bool {
    line.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

fn print_about(text: &mut String, about: &About) {
    let About { title, origin, allocator, batch, limit, floor, planned_peak, reported_peak } = about;
    for (name, value) in [("title", title), ("origin", origin), ("allocator", allocator)] {
        if !value.is_empty() {
            let _ = writeln!(text, "{name} {}", quoted(value));
        }
    }
    let sizes = [
        ("limit", limit),
        ("floor", floor),
        ("planned_peak", planned_peak),
        ("reported_peak", reported_peak),
    ];
    let sizes = sizes.map(|(name, size)| (name, size.map(|size| size.0)));
    for (name, number) in [("batch", batch.map(u64::from))].into_iter().chain(sizes) {
        if let Some(number) = number {
            let _ = writeln!(text, "{name} {number}");
        }
    }
}

fn print_event(text: &mut String, event: &Event) {
    let _ = match event {
        Event::Take { time, block, offset, bytes, label } => {
            let (at, bytes, label) = (offset.0, bytes.0, label.0);
            writeln!(text, "{} take {} at {at} bytes {bytes} label {label}", time.0, block.0)
        }
        Event::Free { time, block } => writeln!(text, "{} free {}", time.0, block.0),
    };
}

fn print_mark(text: &mut String, what: What) {
    let _ = match what {
        What::Step { number } => writeln!(text, "step {number}"),
        What::Evaluation => writeln!(text, "evaluation"),
        What::Clock { nanoseconds } => writeln!(text, "clock {nanoseconds}"),
        What::Region { offset, bytes } => writeln!(text, "region {} bytes {}", offset.0, bytes.0),
        What::Refused { bytes, label } => writeln!(text, "refused {} label {}", bytes.0, label.0),
        What::Again { from, count } => writeln!(text, "again {from} count {count}"),
    };
}

fn quoted(string: &str) -> String {
    serde_json::to_string(string).expect("a string is plain data")
}

fn parse_line(trace: &mut Trace, line: &str) -> Result<(), String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let About { title, origin, allocator, batch, limit, floor, planned_peak, reported_peak } =
        &mut trace.about;
    let size = || number(rest).map(Bytes).map(Some);
    match word {
        "label" => {
            let (rest, again) = rest.strip_suffix(AGAIN).map_or((rest, false), |rest| (rest, true));
            let [value, role, layer, op] =
                strings(rest)?.try_into().map_err(|_| "a label has four strings")?;
            trace.labels.push(Label { value, role, layer, op, again });
        }
        "title" => *title = string(rest)?,
        "origin" => *origin = string(rest)?,
        "allocator" => *allocator = string(rest)?,
        "batch" => *batch = Some(number(rest)?),
        "limit" => *limit = size()?,
        "floor" => *floor = size()?,
        "planned_peak" => *planned_peak = size()?,
        "reported_peak" => *reported_peak = size()?,
        _ if is_event(line) => trace.events.push(parse_event(line)?),
        _ => trace.mark(parse_mark(line)?),
    }
    Ok(())
}

fn parse_event(line: &str) -> Result<Event, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [time, "take", block, "at", offset, "bytes", bytes, "label", label] => Ok(Event::Take {
            time: Time(number(time)?),
            block: BlockId(number(block)?),
            offset: Offset(number(offset)?),
            bytes: Bytes(number(bytes)?),
            label: LabelId(number(label)?),
        }),
        [time, "free", block] => {
            Ok(Event::Free { time: Time(number(time)?), block: BlockId(number(block)?) })
        }
        _ => Err(format!("`{line}` is no event")),
    }
}

fn parse_mark(line: &str) -> Result<What, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["step", step] => Ok(What::Step { number: number(step)? }),
        ["evaluation"] => Ok(What::Evaluation),
        ["clock", nanoseconds] => Ok(What::Clock { nanoseconds: number(nanoseconds)? }),
        ["region", offset, "bytes", bytes] => {
            Ok(What::Region { offset: Offset(number(offset)?), bytes: Bytes(number(bytes)?) })
        }
        ["refused", bytes, "label", label] => {
            Ok(What::Refused { bytes: Bytes(number(bytes)?), label: LabelId(number(label)?) })
        }
        ["again", from, "count", count] => Ok(What::Again { from: number(from)?, count: number(count)? }),
        _ => Err(format!("`{line}` is neither a label nor an event nor a mark")),
    }
}

fn strings(text: &str) -> Result<Vec<String>, String> {
    let strings: Result<_, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    strings.map_err(|error| error.to_string())
}

fn string(text: &str) -> Result<String, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.trim().parse().map_err(|_| format!("`{word}` is no number that fits here"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(trace in specimen::any_trace()) {
            prop_assert_eq!(parse(&print(&trace)), Ok(trace));
        }

        #[test]
        fn any_text_is_an_error_or_a_trace(
            text in "(trace 1\n)?(label|title|limit|step|again|[0-9]{0,3} (take|free) ?[0-9]{0,20}| |\n|\"){0,12}"
        ) {
            let _ = parse(&text);
        }
    }

    #[test]
    fn errors_name_the_line() {
        let error = parse("trace 1\n\n0 take x at 0 bytes 1 label 0\n").unwrap_err();
        assert_eq!(error.to_string(), "line 3: `x` is no number that fits here");
        let error = parse("trace 1\nspet 1\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: `spet 1` is neither a label nor an event nor a mark");
    }
}
