//! A trace as CSV: one row a buffer.
//!
//! Columns: value, role, layer, op (who it is for), bytes, offset, begin and end. It lives from the op `begin` to just
//! before `end`, counted in the trace's ops; `end` is empty for what was never freed. Steps that are the same as
//! earlier ones have no rows of their own.

use plimsoll_trace::{BlockId, Event, Label, Time, Trace};
use std::collections::HashMap;
use std::io::{Result, Write};

/// The names of the columns.
pub const COLUMNS: &str = "value,role,layer,op,bytes,offset,begin,end";

/// Writes a trace, buffers in the order in which they were taken.
pub fn write(trace: &Trace, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{COLUMNS}")?;
    let nobody = Label::default();
    for (event, end) in trace.events.iter().zip(ends(trace)) {
        let Event::Take { time, offset, bytes, label, .. } = event else { continue };
        let label = trace.labels.get(label.0 as usize).unwrap_or(&nobody);
        for name in [&label.shown(), &label.role, &label.layer, &label.op] {
            write!(out, "{},", field(name))?;
        }
        let end = end.map_or(String::new(), |end| (u64::from(end.0) + 1).to_string());
        writeln!(out, "{},{},{},{end}", bytes.0, offset.0, time.0)?;
    }
    Ok(())
}

/// For each take, when its block was freed.
fn ends(trace: &Trace) -> Vec<Option<Time>> {
    let mut ends = vec![None; trace.events.len()];
    let mut live: HashMap<BlockId, usize> = HashMap::new();
    for (index, event) in trace.events.iter().enumerate() {
        match event {
            Event::Take { block, .. } => drop(live.insert(*block, index)),
            Event::Free { block, time } => {
                if let Some(take) = live.remove(block) {
                    ends[take] = Some(*time);
                }
            }
        }
    }
    ends
}

/// Quoted where it has to be, as RFC 4180 says.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    #[test]
    fn a_row_a_buffer() {
        let trace = "trace 1\nlabel \"a, \\\"b\\\"\" \"activation\" \"l\" \"relu\"\n0 take 5 at 64 bytes 8 label 0\n3 free 5\n4 take 5 at 0 bytes 9 label 0\n";
        let mut bytes = Vec::new();
        write(&text::parse(trace).unwrap(), &mut bytes).unwrap();
        let expected = format!(
            "{COLUMNS}\n\"a, \"\"b\"\"\",activation,l,relu,8,64,0,4\n\"a, \"\"b\"\"\",activation,l,relu,9,0,4,\n"
        );
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
