//! `plimsoll zoo`: the models that can be named.

use crate::failure::Failure;
use crate::table::Table;
use clap::Args;
use plimsoll::graph::Role;
use plimsoll::model::zoo::{self, Entry};
use plimsoll::model::{Mode, ModelError};
use serde_json::{Value, json};
use std::process::ExitCode;

/// `plimsoll zoo`
#[derive(Args)]
pub struct Zoo {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(arguments: &Zoo) -> Result<ExitCode, Failure> {
    let entries = zoo::entries();
    let counts: Result<Vec<usize>, ModelError> = entries.iter().map(parameters).collect();
    let counts = counts.map_err(plimsoll::JobError::from)?;
    match arguments.json {
        true => {
            println!("{:#}", json!({ "models": entries.iter().zip(counts).map(as_json).collect::<Vec<_>>() }))
        }
        false => println!("{}", as_text(entries, &counts)),
    }
    Ok(ExitCode::SUCCESS)
}

/// All parameters at the default size and options, as Keras counts them.
fn parameters(entry: &Entry) -> Result<usize, ModelError> {
    let model = zoo::find(entry.name).expect("the zoo knows its own entries");
    let graph = model.lower(1, Mode::Inference)?;
    Ok(graph.elements_of(Role::Parameter) + graph.elements_of(Role::Statistic))
}

fn as_text(entries: &[Entry], counts: &[usize]) -> String {
    let mut table = Table::new(["model", "size", "parameters", "options", "what it is"]).right(2);
    for (entry, count) in entries.iter().zip(counts) {
        let options: Vec<String> =
            entry.options.iter().map(|option| format!("{}={}", option.name, option.default)).collect();
        table.row([
            entry.name.to_string(),
            format!("@{} {}", entry.default_size, entry.unit),
            grouped(*count),
            options.join(","),
            entry.description.to_string(),
        ]);
    }
    format!(
        "{}\n\nwrite a model as NAME[@SIZE][,option=value...], such as resnet50@224 or cnn@8,channels=1",
        table.print()
    )
}

/// A count with a comma every three digits.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn as_json((entry, parameters): (&Entry, usize)) -> Value {
    let options: serde_json::Map<String, Value> = entry
        .options
        .iter()
        .map(|option| (option.name.to_string(), json!(option.default.to_string())))
        .collect();
    json!({
        "name": entry.name,
        "description": entry.description,
        "size": entry.default_size,
        "unit": entry.unit,
        "parameters": parameters,
        "options": options,
    })
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn counts_are_grouped() {
        for (count, text) in [(7, "7"), (999, "999"), (1000, "1,000"), (23_608_202, "23,608,202")] {
            assert_eq!(grouped(count), text);
        }
    }
}
