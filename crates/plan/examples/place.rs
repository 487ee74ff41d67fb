//! How many nodes and milliseconds layout problems take, each placed below a capacity or, for capacity 0, as low as
//! planning would: `cargo run --release -p plimsoll-plan --example place -- CAPACITY NODES FILE...`

use plimsoll_plan::place::{Verdict, csv, place, solve};
use plimsoll_trace::Bytes;
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || {
        arguments
            .next()
            .ok_or("usage: place CAPACITY NODES FILE...")?
            .parse::<u64>()
            .map_err(Box::<dyn Error>::from)
    };
    let (capacity, limit) = (number()?, number()?);
    for path in arguments {
        let intervals = csv::parse(&std::fs::read_to_string(&path)?)?.intervals;
        let start = Instant::now();
        let (verdict, nodes) = match capacity {
            0 => {
                let placement = place(&intervals);
                let over = 100.0 * (placement.peak.0 as f64 / placement.floor.0.max(1) as f64 - 1.0);
                (format!("{over:.2} % above the floor"), placement.nodes)
            }
            capacity => {
                let searched = solve(&intervals, Bytes(capacity), limit);
                let verdict = match searched.verdict {
                    Verdict::Placed(_) => "placed",
                    Verdict::Impossible => "impossible",
                    Verdict::GaveUp => "gave up",
                };
                (verdict.to_string(), searched.nodes)
            }
        };
        println!("{path}: {verdict}, {nodes} nodes, {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}
