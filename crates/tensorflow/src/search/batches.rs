//! The largest batch that fits: every batch is a candidate, found by halving the range in which the answer lies.
//!
//! What a step needs grows with its samples, but not quite steadily: chunks that are not split make small steps up and
//! down. So the next few batches above the border are tried, too.

use super::{Changed, Search, Trial, trial};
use crate::recipe::Recipe;
use plimsoll_model::{Model, ModelError};
use plimsoll_trace::Bytes;
use plimsoll_train::Change;

/// How many batches above the border are tried.
const ABOVE: usize = 16;

/// No batch beyond this is looked for.
const LARGEST: usize = 1 << 24;

/// Looks for the largest batch that fits, with everything else as it is written.
pub fn largest_batch(model: &Model, written: &Recipe, budget: Bytes) -> Result<Search, ModelError> {
    let one = trial(model, (Vec::new(), with_rows(written, 1)))?;
    if !one.fits(budget) {
        return Ok(Search { trials: vec![one], found: None, advice: Vec::new() });
    }
    let mut rows = 1;
    let attempt = |rows: usize| trial(model, (Vec::new(), with_rows(written, rows)));
    while rows < LARGEST && attempt(rows * 2)?.fits(budget) {
        rows *= 2;
    }
    let found = border(rows, rows * 2, attempt, budget)?.unwrap_or(attempt(rows)?);
    Ok(Search { trials: vec![found], found: Some(0), advice: Vec::new() })
}

/// For each recipe the largest batch below its own that fits, or a batch of one step with one sample where none does.
pub(super) fn smaller(model: &Model, bases: &[Changed], budget: Bytes) -> Result<Vec<Trial>, ModelError> {
    let mut trials = Vec::new();
    for (changes, recipe) in bases.iter().filter(|(_, recipe)| recipe.rows() > 1) {
        let attempt = |rows: usize| {
            let smaller = with_rows(recipe, rows);
            trial(model, ([changes.as_slice(), &[Change::Batch(smaller.batch)]].concat(), smaller))
        };
        let one = attempt(1)?;
        let found = if one.fits(budget) { border(1, recipe.rows(), attempt, budget)? } else { None };
        trials.push(found.unwrap_or(one));
    }
    Ok(trials)
}

/// The largest number of samples that fits, where `fitting` fits and `end` is out of question.
fn border(
    mut fitting: usize,
    end: usize,
    attempt: impl Fn(usize) -> Result<Trial, ModelError>,
    budget: Bytes,
) -> Result<Option<Trial>, ModelError> {
    let (mut beyond, mut found) = (end, None);
    while beyond - fitting > 1 {
        let middle = fitting.midpoint(beyond);
        let one = attempt(middle)?;
        match one.fits(budget) {
            true => (fitting, found) = (middle, Some(one)),
            false => beyond = middle,
        }
    }
    for rows in beyond.saturating_add(1)..end.min(beyond.saturating_add(ABOVE)) {
        let one = attempt(rows)?;
        if one.fits(budget) {
            found = Some(one);
        }
    }
    Ok(found)
}

/// The same with so many samples in a step.
fn with_rows(recipe: &Recipe, rows: usize) -> Recipe {
    Recipe { batch: rows * recipe.setup.accumulate.max(1) as usize, ..*recipe }
}
