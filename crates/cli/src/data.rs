//! `plimsoll data`: what is in a folder or file, what is broken, and how fast it can be read.

use crate::failure::Failure;
use crate::output;
use crate::size::size;
use crate::table::Table;
use crate::train::pixel_range;
use clap::Args;
use plimsoll::data::InputRequest;
use plimsoll::input::PixelRange;
use plimsoll::reports::DataReport;
use plimsoll::{Bytes, DataRequest};
use std::process::ExitCode;

/// `plimsoll data`
#[derive(Args)]
pub struct Data {
    /// A folder of images by class, a .csv, an .npz, MNIST's files, .tfrecord files, or a data.toml
    #[arg(value_name = "PATH")]
    path: String,
    /// The height and width that images are read in
    #[arg(long, value_name = "PIXELS", default_value_t = 224, value_parser = clap::value_parser!(u16).range(1..))]
    size: u16,
    /// Samples that are wanted at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Threads that read [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// The most memory that reading may take, such as 64MiB [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    input_memory: Option<Bytes>,
    /// The column of a table that is to be predicted [default: label, target, class, y or output, or else the last]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// What black and white become: 0..255, 0..1 or -1..1
    #[arg(long, value_name = "RANGE", value_parser = pixel_range, allow_hyphen_values = true)]
    pixels: Option<PixelRange>,
    /// Look at what files say about themselves only; what is broken is not found
    #[arg(long)]
    quick: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// How many classes and files are listed.
const SHOWN: usize = 20;

/// Runs the command.
pub fn run(arguments: &Data) -> Result<ExitCode, Failure> {
    let request = DataRequest {
        path: arguments.path.clone(),
        input: InputRequest {
            memory: arguments.input_memory,
            target: arguments.target.clone(),
            pixels: arguments.pixels,
            ..InputRequest::default()
        },
        size: arguments.size.into(),
        batch: arguments.batch.into(),
        threads: arguments.threads.map(usize::from),
        reads_all: !arguments.quick,
    };
    let report = request.look()?;
    output::report(arguments.json, &report, || as_text(&report))?;
    Ok(if report.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn as_text(report: &DataReport) -> String {
    let mut text = format!("{}: {}\n", report.path, report.kind);
    let mut table = Table::new(["samples", &report.samples.to_string()]).list();
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    if let Some(test) = report.test_samples {
        row("to judge by", test.to_string());
    }
    for column in report.columns.iter().take(SHOWN) {
        row(column.role.as_deref().unwrap_or("not used"), format!("`{}`: {}", column.name, column.content));
    }
    if report.columns.len() > SHOWN {
        row("", format!("and {} columns more", report.columns.len() - SHOWN));
    }
    report.pictures.iter().for_each(|pictures| row("images", pictures.clone()));
    let rate = &report.rate;
    row(
        "read",
        format!(
            "{:.0} samples a second by {} threads, mostly {}",
            rate.samples_per_second, rate.threads, rate.mostly
        ),
    );
    let stages = format!(
        "{:.2} ms reading files, {:.2} ms decoding, {:.2} ms resizing",
        1e3 * rate.read_seconds,
        1e3 * rate.decode_seconds,
        1e3 * rate.resize_seconds
    );
    row("for each", stages);
    row("memory", format!("{} at most, of {}", report.peak_bytes, report.memory_bytes));
    text += &table.print();
    if let Some(classes) = &report.classes {
        let mut table = Table::new(["class", "samples", "share"]).right(1).right(2);
        for class in classes.iter().take(SHOWN) {
            let share = 100.0 * class.count as f64 / report.samples.max(1) as f64;
            table.row([class.name.clone(), class.count.to_string(), format!("{share:.1} %")]);
        }
        text += &format!("\n\n{}", table.print());
        if classes.len() > SHOWN {
            text += &format!("\nand {} more", classes.len() - SHOWN);
        }
    }
    text += &listed("broken", &report.broken);
    text += &listed("there more than once", report.twice.as_deref().unwrap_or_default());
    report.notes.iter().for_each(|note| text += &format!("\nnote: {note}"));
    text
}

/// Some files under a headline.
fn listed(head: &str, files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut text = format!("\n\n{head}: {}", files.len());
    files.iter().take(SHOWN).for_each(|file| text += &format!("\n  {file}"));
    if files.len() > SHOWN {
        text += &format!("\n  and {} more", files.len() - SHOWN);
    }
    text
}
