//! The search over what TensorFlow can be told: the recipe with the fewest changes that fits a number of bytes.
//!
//! Levers that leave the numbers the same come first: `tf.function` instead of eager steps, the whole limit at once
//! instead of growth, accumulated gradients where samples do not see each other, and parts of a model that are computed
//! again where nothing in it is drawn or remembered. Those that change numbers are
//! tried only where they are allowed, and a smaller batch after all others: the largest that fits.

mod batches;

pub use batches::largest_batch;

use crate::recipe::{Needs, Recipe};
use crate::recompute;
use plimsoll_model::{Model, ModelError};
use plimsoll_trace::Bytes;
use plimsoll_train::lever::{Cost, Home};
use plimsoll_train::{Allowed, Change, Lever};

/// A recipe that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What is different from the model as written; nothing for the model as written.
    pub changes: Vec<Change>,
    /// The recipe.
    pub recipe: Recipe,
    /// What it takes, if any limit works.
    pub needs: Option<Needs>,
}

/// The way from a model as written to a recipe that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// What was looked at, in order; the first is the model as written.
    pub trials: Vec<Trial>,
    /// The one that fits, by its place among them.
    pub found: Option<usize>,
    /// What each lever which was not allowed would give.
    pub advice: Vec<Advice>,
}

/// What a lever that was not allowed would give.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The lever.
    pub lever: Lever,
    /// The mildest of its changes that fits, or the one that comes nearest, after all that needs no permission and
    /// costs nothing.
    pub trial: Trial,
}

impl Trial {
    /// Whether it runs in so many bytes.
    pub fn fits(&self, budget: Bytes) -> bool {
        self.needs.as_ref().is_some_and(|needs| needs.total() <= budget)
    }

    /// A change, with what it means for this recipe.
    pub fn describe(&self, change: Change) -> String {
        match change {
            Change::MicroBatches(_) => format!("{change} of {}", self.recipe.rows()),
            Change::Recompute => format!("{change} in {} parts", self.recipe.setup.recompute),
            _ => change.to_string(),
        }
    }
}

impl Search {
    /// The recipe that fits, with what it takes.
    pub fn recipe(&self) -> Option<(&Trial, &Needs)> {
        let trial = &self.trials[self.found?];
        trial.needs.as_ref().map(|needs| (trial, needs))
    }

    /// The trial that takes least: where nothing fits, it is the nearest to fitting.
    pub fn nearest(&self) -> &Trial {
        nearest(&self.trials).unwrap_or(&self.trials[0])
    }
}

/// Looks for a recipe that fits a budget, beginning with the one that is written.
pub fn search(
    model: &Model,
    written: &Recipe,
    budget: Bytes,
    allowed: Allowed,
) -> Result<Search, ModelError> {
    let apart = model.mixing()?.is_none();
    // Where TensorFlow would compute other numbers again, the lever is not TensorFlow's.
    let again = recompute::is_exact(model)?;
    let has = |lever: &Lever| *lever != Lever::Recompute || again;
    let may = |lever: &Lever| allowed.may(*lever, apart) && has(lever);
    let mut trials = vec![trial(model, (Vec::new(), *written))?];
    let mut found = trials[0].fits(budget).then_some(0);
    for candidate in candidates(written, may) {
        if found.is_some() {
            break;
        }
        trials.push(trial(model, candidate)?);
        found = trials.last().is_some_and(|trial| trial.fits(budget)).then_some(trials.len() - 1);
    }
    if found.is_none() && may(&Lever::Batch) {
        let first = trials.len();
        trials.extend(batches::smaller(model, &whole_steps(written, may), budget)?);
        let fitting = (first..trials.len()).filter(|&place| trials[place].fits(budget));
        found = fitting.max_by_key(|&place| (trials[place].recipe.batch, std::cmp::Reverse(place)));
    }
    let advised = |lever: &Lever| has(lever) && !may(lever) && !allowed.is_withheld(*lever);
    let advice = if found.is_none() { advice(model, written, budget, may, advised)? } else { Vec::new() };
    Ok(Search { trials, found, advice })
}

/// A recipe with what was changed to get it.
type Changed = (Vec<Change>, Recipe);

fn trial(model: &Model, (changes, recipe): Changed) -> Result<Trial, ModelError> {
    let (recipe, needs) = recipe.in_best_parts(model)?;
    Ok(Trial { changes, needs, recipe })
}

/// Recipes with the same batch beside the one that is written, those with the gravest changes last.
fn candidates(written: &Recipe, may: impl Fn(&Lever) -> bool) -> Vec<Changed> {
    let mut candidates = combined(written, &may, |lever| *lever != Lever::Batch);
    candidates.retain(|(changes, recipe)| !changes.is_empty() && recipe.is_even());
    candidates
}

/// What smaller batches begin with. A batch that is cut needs as much however large it is, so they are not cut.
fn whole_steps(written: &Recipe, may: impl Fn(&Lever) -> bool) -> Vec<Changed> {
    combined(written, &may, |lever| !matches!(lever, Lever::Batch | Lever::Accumulate))
}

/// All combinations of some levers, after what costs nothing.
fn combined(written: &Recipe, may: impl Fn(&Lever) -> bool, of: impl Fn(&Lever) -> bool) -> Vec<Changed> {
    let mut candidates = vec![with_all_that_is_free(written, &may)];
    let levers = Lever::of(Home::TensorFlow).rev();
    for lever in levers.filter(|lever| !is_free(lever) && may(lever) && of(lever)) {
        candidates = candidates.into_iter().flat_map(|one| with_and_without(one, lever)).collect();
    }
    candidates
}

/// What costs nothing is done before anything else is looked at.
fn is_free(lever: &Lever) -> bool {
    lever.facts().cost == Cost::Nothing
}

fn with_all_that_is_free(written: &Recipe, may: impl Fn(&Lever) -> bool) -> Changed {
    let free = Lever::of(Home::TensorFlow).filter(|lever| is_free(lever) && may(lever));
    free.fold((Vec::new(), *written), |one, lever| with_the_gravest(&one, lever).unwrap_or(one))
}

/// A recipe, then those that a lever makes of it, the mildest change first.
fn with_and_without(one: Changed, lever: Lever) -> Vec<Changed> {
    let more: Vec<Changed> = with(&one, lever).collect();
    std::iter::once(one).chain(more).collect()
}

fn with_the_gravest(one: &Changed, lever: Lever) -> Option<Changed> {
    with(one, lever).filter(|(_, recipe)| recipe.is_even()).last()
}

fn with((changes, recipe): &Changed, lever: Lever) -> impl Iterator<Item = Changed> {
    let made = lever.changes(recipe.choices());
    made.filter_map(|change| Some(([changes.as_slice(), &[change]].concat(), recipe.with(change)?)))
}

fn advice(
    model: &Model,
    written: &Recipe,
    budget: Bytes,
    may: impl Fn(&Lever) -> bool,
    advised: impl Fn(&Lever) -> bool,
) -> Result<Vec<Advice>, ModelError> {
    let base = with_all_that_is_free(written, may);
    let mut advice = Vec::new();
    for lever in Lever::of(Home::TensorFlow).filter(advised) {
        let trial = match lever {
            Lever::Batch => batches::smaller(model, std::slice::from_ref(&base), budget)?.pop(),
            _ => mildest(model, &base, lever, budget)?,
        };
        advice.extend(trial.map(|trial| Advice { lever, trial }));
    }
    Ok(advice)
}

/// The mildest change of a lever that fits, or the one that comes nearest.
fn mildest(model: &Model, base: &Changed, lever: Lever, budget: Bytes) -> Result<Option<Trial>, ModelError> {
    let mut trials = Vec::new();
    for changed in with(base, lever).filter(|(_, recipe)| recipe.is_even()) {
        let one = trial(model, changed)?;
        if one.fits(budget) {
            return Ok(Some(one));
        }
        trials.push(one);
    }
    Ok(nearest(&trials).cloned())
}

/// The trial that takes least.
fn nearest(trials: &[Trial]) -> Option<&Trial> {
    trials
        .iter()
        .filter(|trial| trial.needs.is_some())
        .min_by_key(|trial| trial.needs.as_ref().map(Needs::total))
}
