//! Where the buffers of a layout problem lie.

use crate::Bytes;
use plimsoll_plan::place::csv::{self, Problem};
use plimsoll_plan::place::pages::{PageRules, Pages};
use plimsoll_plan::{Interval, Placement};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where buffers lie in one piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceReport {
    /// Where the last of them ends.
    pub peak_bytes: Bytes,
    /// The most bytes that live at once: no placement needs less.
    pub floor_bytes: Bytes,
    /// How many nodes searches have visited.
    pub nodes: u64,
    /// Whether everything fits the capacity; true without one.
    pub fits: bool,
    /// The offset of each buffer.
    pub offsets: BTreeMap<String, u64>,
    /// What it should fit into.
    #[serde(skip)]
    pub capacity: Option<Bytes>,
    /// What was placed.
    #[serde(skip)]
    pub problem: Problem,
    /// The same offsets, in the order of the problem.
    #[serde(skip)]
    pub placement: Placement,
}

/// Where buffers lie in pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PagesReport {
    /// How much of each page is used.
    #[serde(rename = "pages")]
    pub used_bytes: Vec<Bytes>,
    /// All of it.
    pub total_bytes: Bytes,
    /// How many pages hold what is live at once.
    pub fewest_pages: usize,
    /// The page and the offset in it of each buffer.
    pub offsets: BTreeMap<String, SpotReport>,
    /// What was asked for.
    #[serde(skip)]
    pub rules: PageRules,
    /// What was placed.
    #[serde(skip)]
    pub problem: Problem,
    /// The same spots, in the order of the problem.
    #[serde(skip)]
    pub pages: Pages,
}

/// Where a buffer lies in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SpotReport {
    /// Which page; the first is 0.
    pub page: usize,
    /// Where in it.
    pub offset: u64,
}

impl PlaceReport {
    pub(crate) fn of(problem: Problem, placement: Placement, capacity: Option<Bytes>) -> Self {
        let offsets = problem.names.iter().cloned().zip(placement.offsets.iter().map(|offset| offset.0));
        Self {
            peak_bytes: placement.peak,
            floor_bytes: placement.floor,
            nodes: placement.nodes,
            fits: capacity.is_none_or(|capacity| placement.peak <= capacity),
            offsets: offsets.collect(),
            capacity,
            problem,
            placement,
        }
    }

    /// The problem with an offset for each buffer, as CSV.
    pub fn csv(&self) -> String {
        csv::print(&self.problem, &self.placement.offsets)
    }
}

impl PagesReport {
    pub(crate) fn of(problem: Problem, pages: Pages, rules: PageRules) -> Self {
        let spots = pages.spots.iter().map(|spot| SpotReport { page: spot.page, offset: spot.offset.0 });
        Self {
            used_bytes: pages.used.clone(),
            total_bytes: pages.used.iter().copied().sum(),
            fewest_pages: pages.fewest,
            offsets: problem.names.iter().cloned().zip(spots).collect(),
            rules,
            problem,
            pages,
        }
    }

    /// The problem with a page and an offset for each buffer, as CSV.
    pub fn csv(&self) -> String {
        let mut text = "id,lower,upper,size,page,offset\n".to_string();
        let rows = self.problem.names.iter().zip(&self.problem.intervals).zip(&self.pages.spots);
        for ((name, Interval { live, bytes }), spot) in rows {
            let (page, offset) = (spot.page, spot.offset.0);
            text += &format!("{name},{},{},{},{page},{offset}\n", live.start, live.end, bytes.0);
        }
        text
    }
}
