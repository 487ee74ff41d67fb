//! Offsets for the buffers of a layout problem, as they are asked for.

use crate::reports::{PagesReport, PlaceReport};
use crate::{Bytes, RequestError};
use plimsoll_plan::place::csv::{self, Problem};
use plimsoll_plan::place::pages::{PageRules, PagesError, place_in_pages, verify_pages};
use plimsoll_plan::place::{Verdict, solve};
use plimsoll_plan::{Interval, Placement, place};
use plimsoll_state::input_file;
use std::path::PathBuf;

/// The largest problem that is read: some millions of buffers.
const LARGEST_PROBLEM: Bytes = Bytes::mib(256);

/// Offsets as they are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceRequest {
    /// The buffers, as CSV; `-` for standard input.
    pub problem: PathBuf,
    /// Where they go.
    pub into: Space,
}

/// Where buffers go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Space {
    /// One piece of memory.
    OnePiece {
        /// What everything should fit into, where there is something.
        capacity: Option<Bytes>,
        /// How many nodes an exact search may visit where the quick way misses the capacity, or without one the floor.
        nodes: u64,
    },
    /// Pages, and no buffer lies across two of them.
    Pages(PageRules),
}

/// Where everything is.
#[derive(Clone, Debug, PartialEq)]
pub enum Placed {
    /// In one piece.
    OnePiece(PlaceReport),
    /// In pages.
    Pages(PagesReport),
}

impl PlaceRequest {
    /// Reads the problem and places it.
    pub fn run(&self) -> Result<Placed, RequestError> {
        let problem = self.read()?;
        match self.into {
            Space::OnePiece { capacity, nodes } => {
                let placement = best(&problem.intervals, capacity, nodes);
                Ok(Placed::OnePiece(PlaceReport::of(problem, placement, capacity)))
            }
            Space::Pages(rules) => {
                let pages = place_in_pages(&problem.intervals, rules);
                let pages = pages.map_err(|error| refused(&problem, error))?;
                verify_pages(&problem.intervals, rules, &pages).expect("what is placed passes its proof");
                Ok(Placed::Pages(PagesReport::of(problem, pages, rules)))
            }
        }
    }

    fn read(&self) -> Result<Problem, RequestError> {
        let text = input_file::read_text(&self.problem, LARGEST_PROBLEM)
            .map_err(|error| RequestError::Unreadable { path: self.problem.clone(), error })?;
        csv::parse(&text).map_err(|error| RequestError::NoProblem { path: self.problem.clone(), error })
    }
}

/// What planning would do, and where that is above the capacity (or without one, the floor) an exact search.
fn best(intervals: &[Interval], capacity: Option<Bytes>, nodes: u64) -> Placement {
    let first = place(intervals);
    let capacity = capacity.unwrap_or(first.floor);
    if first.peak <= capacity || capacity < first.floor || nodes == 0 {
        return first;
    }
    let searched = solve(intervals, capacity, nodes);
    let nodes = first.nodes + searched.nodes;
    match searched.verdict {
        Verdict::Placed(offsets) => {
            let ends =
                offsets.iter().zip(intervals).map(|(&offset, interval)| (offset + interval.bytes).distance());
            Placement { peak: ends.max().unwrap_or(Bytes::ZERO), offsets, nodes, ..first }
        }
        Verdict::Impossible | Verdict::GaveUp => Placement { nodes, ..first },
    }
}

/// Pages are too small for a buffer; nothing else can be wrong with a problem that was read.
fn refused(problem: &Problem, error: PagesError) -> RequestError {
    let PagesError::TooLarge { index, bytes, size } = error else { return RequestError::Pages(error) };
    let largest = problem.intervals.iter().map(|interval| interval.bytes).max().unwrap_or(bytes);
    RequestError::SmallPages { buffer: problem.names[index].clone(), bytes, size, largest }
}
