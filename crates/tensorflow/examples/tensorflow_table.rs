//! Prints every measured configuration beside its prediction: `cargo run --release -p plimsoll-tensorflow --example tensorflow_table [FILE.csv]`.

#[path = "../tests/table/measured.rs"]
mod measured;
#[path = "../tests/table/models.rs"]
mod models;

use measured::Row;

fn main() {
    let file = std::env::args().nth(1).map(|path| std::fs::read_to_string(path).expect("a readable table"));
    let rows = file.map_or_else(measured::table, |text| measured::rows(&text));
    let (plain, other): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(Row::is_plain);
    println!("float32, graph mode");
    print(&plain);
    println!("\nother modes and precisions");
    print(&other);
    println!("\nsmallest limits in MiB");
    measured::thresholds().iter().for_each(print_limit);
}

fn print_limit(row: &Row) {
    let prediction = row.predict();
    let limit = prediction.smallest_limit(true).map_or(0, |limit| limit.0 >> 20);
    let measured = row.number("threshold_mb");
    let error = (limit as f64 / measured as f64 - 1.0) * 100.0;
    println!("{:58} {measured:>12} {limit:>12} {error:>+7.1} %", row.name());
}

fn print(rows: &[Row]) {
    let mut errors: Vec<f64> = rows.iter().map(print_row).collect();
    let low = errors.iter().filter(|error| **error < 0.0).count();
    errors.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    if let (Some(median), Some(nine_tenths)) =
        (errors.get(errors.len() / 2), errors.get(errors.len() * 9 / 10))
    {
        let lowest = errors.iter().copied().fold(0.0, f64::min);
        println!(
            "{} rows: median {:.1} %, 9 of 10 within {:.1} %, lowest {lowest:+.1} %, {low} too low",
            errors.len(),
            median.abs(),
            nine_tenths.abs()
        );
    }
}

fn print_row(row: &Row) -> f64 {
    let prediction = row.predict();
    let (measured, predicted) = (row.number("t_req_peak"), prediction.live_peak().0);
    let error = (predicted as f64 / measured as f64 - 1.0) * 100.0;
    if std::env::var_os("HOLDERS").is_some() {
        prediction
            .by_holder()
            .iter()
            .take(12)
            .for_each(|(holder, bytes)| println!("    {:>12} {holder}", bytes.0));
    }
    println!("{:58} {measured:>12} {predicted:>12} {error:>+7.1} %", row.name());
    error
}
