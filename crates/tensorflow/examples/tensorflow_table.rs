//! Prints every measured configuration beside its prediction: `cargo run --release -p plimsoll-tensorflow --example
//! tensorflow_table [FILE.csv]`.
//!
//! Without a file it is the table that the tests hold; with one, further measurements of
//! `bench/peers/tensorflow_memory/measure.py`.

#[path = "../tests/table/measured.rs"]
mod measured;
#[path = "../tests/table/models.rs"]
mod models;
#[path = "../tests/table/saved.rs"]
mod saved;

use measured::Row;
use std::path::Path;

fn main() {
    let file = std::env::args().nth(1).map(|path| std::fs::read_to_string(path).expect("a readable table"));
    if let Some(folder) = std::env::args().nth(1).as_ref().and_then(|path| Path::new(path).parent()) {
        saved::FURTHER.set(folder.join("models")).expect("it is set once");
    }
    let limits = if file.is_some() { Vec::new() } else { measured::thresholds() };
    let rows = file.map_or_else(measured::table, |text| measured::rows(&text));
    let (plain, other): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(Row::is_plain);
    for (title, rows) in [("float32, graph mode", plain), ("other modes and precisions", other)] {
        if !rows.is_empty() {
            println!(
                "{title:58} {:>12} {:>12} {:>9} {:>20}",
                "live peak", "predicted", "error", "reported: error"
            );
            print(&rows);
        }
    }
    if !limits.is_empty() {
        println!("{:58} {:>12} {:>12} {:>9}", "smallest limit, MiB", "measured", "predicted", "error");
        limits.iter().for_each(print_limit);
    }
}

fn print(rows: &[Row]) {
    let errors: Vec<f64> = rows.iter().map(print_row).collect();
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = |share: f64| sizes[((sizes.len() as f64 * share).ceil() as usize).max(1) - 1];
    let lowest = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = errors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = errors.iter().filter(|error| **error < 0.0).count();
    let much = errors.iter().filter(|error| **error < -5.0).count();
    println!(
        "{} rows: median {:.1} %, 9 of 10 within {:.1} %, from {lowest:+.1} % to {highest:+.1} %, {low} too low, {much} by more than 5 %\n",
        errors.len(),
        at(0.5),
        at(0.9),
    );
}

fn print_row(row: &Row) -> f64 {
    let prediction = row.predict();
    let live = prediction.live_peak().0;
    let measured = row.number("t_req_peak");
    let error = percent(live, measured);
    let band = &prediction.band;
    let outside = match () {
        () if measured > band.high.0 => format!("  above {}", band.high.0),
        () if measured < band.low.0 => format!("  below {}", band.low.0),
        () => String::new(),
    };
    let reported = percent(prediction.reported_peak(true).0, row.number("t_chk_peak"));
    println!("{:58} {:>12} {live:>12} {error:>+7.1} % {reported:>+18.1} %{outside}", row.name(), measured);
    error
}

fn print_limit(row: &Row) {
    let limit = row.predict().smallest_limit(true).map_or(0, |limit| limit.0 >> 20);
    let measured = row.number("threshold_mb");
    println!("{:58} {measured:>12} {limit:>12} {:>+7.1} %", row.name(), percent(limit, measured));
}

/// How far a prediction is off, in per cent of what was measured.
fn percent(predicted: u64, measured: u64) -> f64 {
    (predicted as f64 / measured as f64 - 1.0) * 100.0
}
