//! `plimsoll zoo`: the models that can be named.

use crate::failure::Failure;
use crate::output;
use crate::table::Table;
use clap::Args;
use plimsoll::reports::ZooReport;
use std::process::ExitCode;

/// `plimsoll zoo`
#[derive(Args)]
pub struct Zoo {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// How wide the list is where there is no terminal.
const WIDEST: usize = 100;

/// Runs the command.
pub fn run(arguments: &Zoo) -> Result<ExitCode, Failure> {
    let report = ZooReport::new().map_err(plimsoll::JobError::from)?;
    output::report(arguments.json, &report, || as_text(&report))?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(report: &ZooReport) -> String {
    let mut table = Table::new(["model", "size", "parameters", "options", "what it is"]).right(2);
    for model in &report.models {
        let options: Vec<String> =
            model.options.iter().map(|(name, default)| format!("{name}={default}")).collect();
        table.row([
            model.name.to_string(),
            format!("@{} {}", model.size, model.unit),
            grouped(model.parameters),
            options.join(","),
            model.description.to_string(),
        ]);
    }
    format!(
        "{}\n\nwrite a model as NAME[@SIZE][,option=value...], such as resnet50@224 or cnn@8,channels=1",
        table.print_usually(WIDEST)
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
