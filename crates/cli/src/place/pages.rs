//! `plimsoll place --page-size`: the buffers of a layout problem in pages of a limited size.

use super::Place;
use crate::failure::Failure;
use crate::output;
use crate::table::Table;
use plimsoll::Bytes;
use plimsoll::plan::Interval;
use plimsoll::plan::place::csv::Problem;
use plimsoll::plan::place::pages::{PageRules, Pages, PagesError, place_in_pages, verify_pages};
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Places a problem in pages and prints where everything is.
pub fn run(problem: &Problem, rules: PageRules, arguments: &Place) -> Result<ExitCode, Failure> {
    let pages = place_in_pages(&problem.intervals, rules).map_err(|error| too_large(problem, &error))?;
    verify_pages(&problem.intervals, rules, &pages).expect("what is placed passes its proof");
    match arguments.offsets {
        true => output::document(&as_csv(problem, &pages))?,
        false => output::report(arguments.json, &as_json(problem, &pages), || as_table(&pages, rules))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn too_large(problem: &Problem, error: &PagesError) -> Failure {
    let PagesError::TooLarge { index, bytes, size } = error else {
        return Failure::usage(error.to_string(), None);
    };
    let name = &problem.names[*index];
    let largest = problem.intervals.iter().map(|interval| interval.bytes).max().unwrap_or(*bytes);
    let message = format!("buffer `{name}` needs {bytes}, more than a page of {size} can hold");
    let hint =
        format!("the largest buffer has {largest} ({} bytes), and no buffer lies across pages", largest.0);
    Failure::problem(message, Some(hint))
}

fn total(pages: &Pages) -> Bytes {
    pages.used.iter().copied().sum()
}

fn as_table(pages: &Pages, rules: PageRules) -> String {
    let mut table =
        Table::new(["page", "buffers", "used", "of the page"]).right(0).right(1).right(2).right(3);
    for (page, used) in pages.used.iter().enumerate() {
        let buffers = pages.spots.iter().filter(|spot| spot.page == page).count();
        let share = 100.0 * used.0 as f64 / rules.size.0.max(1) as f64;
        table.row([page.to_string(), buffers.to_string(), used.to_string(), format!("{share:.1} %")]);
    }
    let (count, fewest) = (pages.used.len(), pages.fewest);
    let noun = if count == 1 { "page" } else { "pages" };
    let bound = match count <= fewest {
        true => "fewer cannot hold what is live at once".to_string(),
        false => format!("what is live at once needs at least {fewest}"),
    };
    format!("{}\n\n{} in {count} {noun} of {}: {bound}", table.print(), total(pages), rules.size)
}

fn as_json(problem: &Problem, pages: &Pages) -> Value {
    let spots = problem.names.iter().zip(&pages.spots);
    let offsets: Map<String, Value> = spots
        .map(|(name, spot)| (name.clone(), json!({ "page": spot.page, "offset": spot.offset.0 })))
        .collect();
    json!({
        "pages": pages.used.iter().map(|used| used.0).collect::<Vec<u64>>(),
        "total_bytes": total(pages).0,
        "fewest_pages": pages.fewest,
        "offsets": offsets,
    })
}

fn as_csv(problem: &Problem, pages: &Pages) -> String {
    let mut text = "id,lower,upper,size,page,offset\n".to_string();
    let rows = problem.names.iter().zip(&problem.intervals).zip(&pages.spots);
    for ((name, Interval { live, bytes }), spot) in rows {
        let (page, offset) = (spot.page, spot.offset.0);
        text += &format!("{name},{},{},{},{page},{offset}\n", live.start, live.end, bytes.0);
    }
    text
}
