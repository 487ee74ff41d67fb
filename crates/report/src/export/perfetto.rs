//! A trace for <https://ui.perfetto.dev> and `chrome://tracing`: JSON in Chrome's trace event format.
//!
//! Live bytes are counters, one for each role and one for their sum, with those of the limit, the plan's floor and what
//! is reserved beside them. Every buffer is an asynchronous slice with its bytes and offset, every step a slice, every
//! request that was refused an instant.

use super::lives::Lives;
use super::unrolled::{Happening, Unrolled, event_of};
use plimsoll_trace::{About, BlockId, Bytes, Event, Label, LabelId, Trace};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Result, Write};

/// The one process, and its thread that steps are shown on.
const PROCESS: u32 = 1;
const STEPS: u32 = 1;

/// Writes a trace; says how many repetitions of steps were left out.
pub fn write(trace: &Trace, out: &mut impl Write) -> Result<usize> {
    let unrolled = Unrolled::new(trace);
    let mut list = List { out, first: true };
    list.out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    write_names(&trace.about, &mut list)?;
    write_lines(&trace.about, &unrolled, &mut list)?;
    write_counters(trace, &unrolled, &mut list)?;
    write_buffers(trace, &unrolled, &mut list)?;
    write_steps(trace, &unrolled, &mut list)?;
    list.out.write_all(b"\n]}\n")?;
    Ok(unrolled.left_out)
}

/// A JSON array that is being written.
struct List<'a, W> {
    out: &'a mut W,
    first: bool,
}

impl<W: Write> List<'_, W> {
    fn add(&mut self, event: &Value) -> Result<()> {
        if !std::mem::take(&mut self.first) {
            self.out.write_all(b",\n")?;
        }
        write!(self.out, "{event}")
    }
}

fn write_names(about: &About, list: &mut List<'_, impl Write>) -> Result<()> {
    let About { title, origin, .. } = about;
    let title = if title.is_empty() { "memory" } else { title };
    let name = if origin.is_empty() { title.to_string() } else { format!("{title} ({origin})") };
    list.add(&json!({"ph": "M", "pid": PROCESS, "name": "process_name", "args": {"name": name}}))?;
    list.add(
        &json!({"ph": "M", "pid": PROCESS, "tid": STEPS, "name": "thread_name", "args": {"name": "steps"}}),
    )
}

/// What does not change: the limit and the floor.
fn write_lines(about: &About, unrolled: &Unrolled, list: &mut List<'_, impl Write>) -> Result<()> {
    let lines = [("limit", about.limit), ("plan's floor", about.floor), ("planned peak", about.planned_peak)];
    for (name, bytes) in lines {
        let Some(bytes) = bytes else { continue };
        for op in [0, unrolled.end] {
            list.add(&counter(name, unrolled.microseconds(op), json!({"bytes": bytes.0})))?;
        }
    }
    Ok(())
}

/// Live bytes by role after every op, and what is reserved.
fn write_counters(trace: &Trace, unrolled: &Unrolled, list: &mut List<'_, impl Write>) -> Result<()> {
    let mut lives = Lives::new(trace);
    let mut shown: HashMap<&str, u64> = HashMap::new();
    for ((_, happening), time) in unrolled.happenings.iter().zip(unrolled.times()) {
        if let Happening::Reserved(bytes) = happening {
            list.add(&counter("reserved", time, json!({"bytes": bytes.0})))?;
        }
        let Some(event) = event_of(trace, *happening) else { continue };
        lives.apply(event);
        for (role, bytes) in lives.now() {
            // A counter stays as it is until it is said to be otherwise.
            if shown.insert(role, bytes) != Some(bytes) {
                list.add(&counter(role, time, json!({"bytes": bytes})))?;
            }
        }
    }
    Ok(())
}

fn counter(name: &str, time: f64, values: Value) -> Value {
    json!({"ph": "C", "pid": PROCESS, "name": name, "ts": time, "args": values})
}

/// A slice from the take of a block to its free, or to the end.
fn write_buffers(trace: &Trace, unrolled: &Unrolled, list: &mut List<'_, impl Write>) -> Result<()> {
    let mut live: HashMap<BlockId, (u64, usize)> = HashMap::new();
    let mut count = 0u64;
    for ((_, happening), time) in unrolled.happenings.iter().zip(unrolled.times()) {
        let &Happening::Event(index) = happening else { continue };
        match trace.events[index] {
            Event::Take { block, .. } => {
                list.add(&buffer(trace, "b", count, index, time))?;
                live.insert(block, (count, index));
                count += 1;
            }
            Event::Free { block, .. } => {
                if let Some((id, take)) = live.remove(&block) {
                    list.add(&buffer(trace, "e", id, take, time))?;
                }
            }
        }
    }
    let mut left: Vec<(u64, usize)> = live.into_values().collect();
    left.sort_unstable();
    for (id, take) in left {
        list.add(&buffer(trace, "e", id, take, unrolled.microseconds(unrolled.end)))?;
    }
    Ok(())
}

/// The beginning (`b`) or end (`e`) of a buffer's slice.
fn buffer(trace: &Trace, phase: &str, id: u64, take: usize, time: f64) -> Value {
    let Event::Take { offset, bytes, label, .. } = trace.events[take] else { return Value::Null };
    let nobody = Label::default();
    let label = label_of(trace, label).unwrap_or(&nobody);
    let Label { role, layer, op, .. } = label;
    let name = if label.value.is_empty() { "buffer".to_string() } else { label.shown() };
    let mut event = json!({
        "ph": phase, "cat": "buffer", "id": format!("{id:#x}"), "pid": PROCESS, "tid": STEPS, "name": name, "ts": time,
    });
    if phase == "b" {
        event["args"] = json!({"bytes": bytes.0, "offset": offset.0, "role": role, "layer": layer, "op": op});
    }
    event
}

fn label_of(trace: &Trace, label: LabelId) -> Option<&Label> {
    trace.labels.get(label.0 as usize)
}

fn write_steps(trace: &Trace, unrolled: &Unrolled, list: &mut List<'_, impl Write>) -> Result<()> {
    let name = |happening: &Happening| match happening {
        Happening::Step(number) => Some(format!("step {number}")),
        Happening::Evaluation => Some("evaluation".to_string()),
        _ => None,
    };
    let steps: Vec<(u64, String)> =
        unrolled.happenings.iter().filter_map(|(op, what)| Some((*op, name(what)?))).collect();
    for (index, (op, name)) in steps.iter().enumerate() {
        let begin = unrolled.microseconds(*op);
        let end = unrolled.microseconds(steps.get(index + 1).map_or(unrolled.end, |(next, _)| *next));
        let (ts, dur) = (begin, (end - begin).max(0.0));
        list.add(&json!({"ph": "X", "pid": PROCESS, "tid": STEPS, "name": name, "ts": ts, "dur": dur}))?;
    }
    for (op, happening) in &unrolled.happenings {
        let &Happening::Refused(Bytes(bytes), label) = happening else { continue };
        let who = label_of(trace, label).map_or("", |label| &label.value);
        let (name, ts) = (format!("refused {}", Bytes(bytes)), unrolled.microseconds(*op));
        let args = json!({"bytes": bytes, "value": who});
        list.add(
            &json!({"ph": "i", "s": "g", "pid": PROCESS, "tid": STEPS, "name": name, "ts": ts, "args": args}),
        )?;
    }
    Ok(())
}
