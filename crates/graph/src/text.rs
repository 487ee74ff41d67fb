//! The text form of a graph: one line a layer, value or op, in the order of their creation.
//!
//! ```text
//! graph "mlp"
//! layer "dense"
//! %0 = input "x" f32[32,784]
//! %1 = parameter "dense/kernel" f32[784,100] {"uniform":0.08} @0
//! %2 "dense/matmul" f32[32,100] = matmul {"transpose_a":false,"transpose_b":false} (%0, %1) forward @0
//! output %2
//! ```
//! An output may be followed by `logits %n` and `mask %n`; `penalty %n` is added to the loss. An op that does what an
//! op before it did ends in `again`. Strings and attributes are JSON. Everything after `#` at the start of a line is a
//! comment.

use crate::{Beside, Graph, Init, LayerId, OpKind, Phase, Role, Site, Source, TensorType, ValueId};
use serde::Deserialize;
use std::fmt::Write as _;

/// A line that is not what the text form wants there.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TextError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// Writes a graph as text.
pub fn print(graph: &Graph) -> String {
    let mut text = format!("graph {}\n", quoted(graph.name()));
    for layer in graph.layers() {
        let _ = writeln!(text, "layer {}", quoted(layer));
    }
    for id in graph.value_ids() {
        let value = graph.value(id);
        match &value.source {
            Source::Input => {
                let _ = writeln!(text, "{id} = input {} {}", quoted(&value.name), value.tensor);
            }
            Source::Persistent(init) => {
                let init = serde_json::to_string(init).expect("an init is plain data");
                let (role, name) = (value.role, quoted(&value.name));
                let _ = writeln!(text, "{id} = {role} {name} {} {init}{}", value.tensor, at(value.layer));
            }
            Source::Op(op) if graph.op(*op).outputs.first() == Some(&id) => print_op(&mut text, graph, *op),
            Source::Op(_) => {}
        }
    }
    for (position, output) in graph.outputs().iter().enumerate() {
        let Beside { logits, mask } = graph.beside(position);
        let named =
            |what: &str, value: Option<ValueId>| value.map_or(String::new(), |id| format!(" {what} {id}"));
        let _ = writeln!(text, "output {output}{}{}", named("logits", logits), named("mask", mask));
    }
    for penalty in graph.penalties() {
        let _ = writeln!(text, "penalty {penalty}");
    }
    text
}

/// Reads what [`print()`] writes. Types are inferred again and compared with what the text says.
pub fn parse(text: &str) -> Result<Graph, TextError> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut graph = None;
    for (number, line) in lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let located = |problem| TextError { line: number, problem };
        match &mut graph {
            None => graph = Some(parse_header(line).map_err(located)?),
            Some(graph) => parse_line(graph, line).map_err(located)?,
        }
    }
    graph.ok_or(TextError { line: 1, problem: "the file is empty".to_string() })
}

fn print_op(text: &mut String, graph: &Graph, id: crate::OpId) {
    let op = graph.op(id);
    let outputs: Vec<String> = op
        .outputs
        .iter()
        .map(|&output| format!("{output} {} {}", quoted(&graph.value(output).name), graph.tensor(output)))
        .collect();
    let inputs: Vec<String> = op.inputs.iter().map(ValueId::to_string).collect();
    let tagged = serde_json::to_value(&op.kind).expect("an op is plain data");
    let attributes = &tagged[op.kind.name()];
    let (outputs, inputs, name) = (outputs.join(", "), inputs.join(", "), op.kind.name());
    let again = if op.again { " again" } else { "" };
    let _ = writeln!(text, "{outputs} = {name} {attributes} ({inputs}) {}{}{again}", op.phase, at(op.layer));
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is plain data")
}

fn at(layer: Option<LayerId>) -> String {
    layer.map_or(String::new(), |layer| format!(" @{}", layer.0))
}

fn parse_header(line: &str) -> Result<Graph, String> {
    let rest = line.strip_prefix("graph ").ok_or("the first line must be `graph \"name\"`")?;
    let (name, rest) = take_json::<String>(rest)?;
    nothing_left(rest)?;
    Ok(Graph::new(name))
}

fn parse_line(graph: &mut Graph, line: &str) -> Result<(), String> {
    if let Some(rest) = line.strip_prefix("layer ") {
        let (name, rest) = take_json::<String>(rest)?;
        graph.add_layer(name);
        return nothing_left(rest);
    }
    if let Some(rest) = line.strip_prefix("output ") {
        let (id, rest) = take_value(graph, rest)?;
        let (logits, rest) = take_beside(graph, rest, "logits ")?;
        let (mask, rest) = take_beside(graph, rest, "mask ")?;
        graph.add_output_beside(id, Beside { logits, mask });
        return nothing_left(rest);
    }
    if let Some(rest) = line.strip_prefix("penalty ") {
        let (id, rest) = take_value(graph, rest)?;
        graph.add_penalty(id);
        return nothing_left(rest);
    }
    let (id, rest) = take_id(line)?;
    match rest.strip_prefix("= ") {
        Some(rest) => parse_source(graph, id, rest),
        None => parse_op(graph, line),
    }
}

fn parse_source(graph: &mut Graph, id: u32, text: &str) -> Result<(), String> {
    let (role, rest) = take_word(text);
    let role = Role::parse(role).ok_or_else(|| format!("`{role}` is no role"))?;
    let (name, rest) = take_json::<String>(rest)?;
    let (tensor, rest) = take_type(rest)?;
    let (added, rest) = if role == Role::Input {
        (graph.add_input(name, tensor), rest)
    } else if role.is_persistent() {
        let (init, rest) = take_json::<Init>(rest)?;
        let (layer, rest) = take_layer(graph, rest)?;
        (graph.add_persistent(name, tensor, role, init, layer), rest)
    } else {
        return Err(format!("a {role} is computed by an op"));
    };
    expect_id(added.map_err(|error| error.to_string())?, id)?;
    nothing_left(rest)
}

fn parse_op(graph: &mut Graph, line: &str) -> Result<(), String> {
    let mut declared = Vec::new();
    let mut next = line;
    let rest = loop {
        let (id, after) = take_id(next)?;
        let (name, after) = take_json::<String>(after)?;
        let (tensor, after) = take_type(after)?;
        declared.push((id, name, tensor));
        next = match (after.strip_prefix(","), after.strip_prefix("= ")) {
            (Some(more), _) => more.trim_start(),
            (_, Some(op)) => break parse_applied(graph, op, &declared)?,
            _ => return Err(format!("expected `,` or `=` at `{after}`")),
        };
    };
    nothing_left(rest)
}

fn parse_applied<'t>(
    graph: &mut Graph,
    text: &'t str,
    declared: &[(u32, String, TensorType)],
) -> Result<&'t str, String> {
    let (name, rest) = take_word(text);
    let (attributes, rest) = take_json::<serde_json::Value>(rest)?;
    let tagged = serde_json::Value::Object([(name.to_string(), attributes)].into_iter().collect());
    let kind: OpKind = serde_json::from_value(tagged).map_err(|error| format!("op `{name}`: {error}"))?;
    let mut rest = rest.strip_prefix('(').ok_or("expected `(` before the inputs")?;
    let mut inputs = Vec::new();
    while !rest.starts_with(')') {
        let (id, after) = take_value(graph, rest)?;
        inputs.push(id);
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    let (phase, rest) = take_word(rest[1..].trim_start());
    let phase = Phase::parse(phase).ok_or_else(|| format!("`{phase}` is no phase"))?;
    let (layer, rest) = take_layer(graph, rest)?;
    let outputs = graph.add_op(kind, &inputs, Site { layer, phase }).map_err(|error| error.to_string())?;
    if outputs.len() != declared.len() {
        return Err(format!("{name} has {} outputs, not {}", outputs.len(), declared.len()));
    }
    for (&output, (id, name, tensor)) in outputs.iter().zip(declared) {
        expect_id(output, *id)?;
        if graph.tensor(output) != tensor {
            return Err(format!("{output} is {}, not {tensor}", graph.tensor(output)));
        }
        graph.rename(output, name);
    }
    match rest.strip_prefix("again") {
        Some(rest) => {
            graph.mark_again();
            Ok(rest)
        }
        None => Ok(rest),
    }
}

fn take_beside<'t>(graph: &Graph, text: &'t str, word: &str) -> Result<(Option<ValueId>, &'t str), String> {
    match text.strip_prefix(word) {
        Some(rest) => take_value(graph, rest).map(|(id, rest)| (Some(id), rest)),
        None => Ok((None, text)),
    }
}

fn expect_id(found: ValueId, wanted: u32) -> Result<(), String> {
    match found.0 == wanted {
        true => Ok(()),
        false => Err(format!("the next value is {found}, not %{wanted}")),
    }
}

fn take_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn take_id(text: &str) -> Result<(u32, &str), String> {
    let wrong = || format!("expected a value such as %7 at `{text}`");
    let rest = text.strip_prefix('%').ok_or_else(wrong)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let id = rest[..end].parse().map_err(|_| wrong())?;
    Ok((id, rest[end..].trim_start()))
}

fn take_value<'t>(graph: &Graph, text: &'t str) -> Result<(ValueId, &'t str), String> {
    let (id, rest) = take_id(text)?;
    match (id as usize) < graph.values().len() {
        true => Ok((ValueId(id), rest)),
        false => Err(format!("%{id} is not known here")),
    }
}

fn take_type(text: &str) -> Result<(TensorType, &str), String> {
    let end = text.find(']').map_or(text.len(), |end| end + 1);
    let tensor = TensorType::parse(&text[..end]).ok_or_else(|| format!("expected a type at `{text}`"))?;
    Ok((tensor, text[end..].trim_start()))
}

fn take_layer<'t>(graph: &Graph, text: &'t str) -> Result<(Option<LayerId>, &'t str), String> {
    let Some(rest) = text.strip_prefix('@') else { return Ok((None, text)) };
    let (word, rest) = take_word(rest);
    let id = word.parse::<u32>().ok().filter(|&id| (id as usize) < graph.layers().len());
    id.map(|id| (Some(LayerId(id)), rest)).ok_or_else(|| format!("there is no layer {word}"))
}

fn take_json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<(T, &str), String> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<T>();
    match stream.next() {
        Some(Ok(value)) => Ok((value, text[stream.byte_offset()..].trim_start())),
        Some(Err(error)) => Err(format!("{error} at `{text}`")),
        None => Err("the line ends too early".to_string()),
    }
}

fn nothing_left(rest: &str) -> Result<(), String> {
    match rest.is_empty() {
        true => Ok(()),
        false => Err(format!("did not expect `{rest}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{BatchNorm, Binary, Fill, MatMul};
    use crate::verify;
    use proptest::prelude::*;

    fn sample() -> Graph {
        let mut graph = Graph::new("sample \"quoted\"");
        let layer = graph.add_layer("dense layer");
        let x = graph.add_input("x", TensorType::f32([4, 3])).unwrap();
        let init = Init::Uniform(0.1);
        let w =
            graph.add_persistent("w", TensorType::f32([3, 2]), Role::Parameter, init, Some(layer)).unwrap();
        let y = graph.add_single(MatMul::default().into(), &[x, w], Site::forward(layer)).unwrap();
        let ones = Fill { shape: [2].into(), value: 1.0 };
        let ones = graph.add_single(ones.into(), &[], Site { layer: None, phase: Phase::Forward }).unwrap();
        let norm = BatchNorm { epsilon: 1e-3 };
        let norm = graph.add_op(norm.into(), &[y, ones, ones], Site::forward(layer)).unwrap();
        let sum = graph.add_single(Binary::Add.into(), &[norm[0], y], Site::forward(layer)).unwrap();
        graph.rename(sum, "the result");
        graph.add_output(sum);
        graph
    }

    #[test]
    fn round_trips() {
        let mut graph = sample();
        verify(&graph).unwrap();
        let text = print(&graph);
        assert_eq!(parse(&text).unwrap(), graph, "{text}");
        graph.mark_again();
        let text = print(&graph);
        assert!(text.contains("forward @0 again\n"), "{text}");
        assert_eq!(parse(&text).unwrap(), graph, "{text}");
    }

    proptest! {
        #[test]
        fn every_name_round_trips(names in proptest::collection::vec(name(), 5)) {
            let [model, layer, input, weight, result] = &names[..] else { unreachable!("there are five") };
            let mut graph = Graph::new(model.as_str());
            let layer = graph.add_layer(layer.as_str());
            let (tensor, none) = (TensorType::f32([3, 3]), Init::Constant(0.0));
            let x = graph.add_input(input.as_str(), tensor.clone()).unwrap();
            let w = graph.add_persistent(weight.as_str(), tensor, Role::Accumulator, none, Some(layer)).unwrap();
            for again in [false, true] {
                let y = graph.add_single(MatMul::default().into(), &[x, w], Site::forward(layer)).unwrap();
                graph.rename(y, result.as_str());
                graph.add_output(y);
                if again {
                    graph.mark_again();
                }
            }
            prop_assert_eq!(parse(&print(&graph)).unwrap(), graph);
        }
    }

    /// Anything a layer may be called, with more than chance of what means something to the text form.
    fn name() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            any::<String>(),
            "[ \"\\\\%#@=(),\\[\\]\n\r\t\u{85}\u{2028}]{0,4}",
            Just(" again".to_string()),
            Just(" (again)".to_string()),
            Just("accumulated/".to_string()),
        ];
        proptest::collection::vec(pieces, 0..3).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn every_cut_of_the_text_is_an_error_or_a_graph_but_never_a_panic() {
        let text = print(&sample());
        for end in 0..text.len() {
            let _ = parse(&text[..end]).map(|graph| verify(&graph));
        }
    }

    #[test]
    fn errors_name_the_line() {
        let text =
            "graph \"g\"\n\n%0 = input \"x\" f32[2,2]\n%1 \"y\" f32[2,2] = unary \"sinus\" (%0) forward\n";
        let error = parse(text).unwrap_err();
        assert_eq!(error.line, 4);
        assert!(error.problem.contains("sinus"), "{error}");
    }

    #[test]
    fn declared_types_must_be_the_inferred_ones() {
        let text =
            "graph \"g\"\n%0 = input \"x\" f32[2,2]\n%1 \"y\" f32[2,3] = unary \"relu\" (%0) forward\n";
        assert_eq!(parse(text).unwrap_err().problem, "%1 is f32[2,2], not f32[2,3]");
    }
}
