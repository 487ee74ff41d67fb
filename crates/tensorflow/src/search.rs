//! The search over what TensorFlow can be told: the recipe with the fewest changes that fits a number of bytes.
//!
//! Levers that leave the numbers the same come first: `tf.function` instead of eager steps, the whole limit at once
//! instead of growth, and accumulated gradients where samples do not see each other. Those that change numbers are
//! tried only where they are allowed.

use crate::recipe::{Needs, Recipe};
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
    /// The most that each lever which was not allowed would give.
    pub advice: Vec<Advice>,
}

/// What a lever that was not allowed would give.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The lever.
    pub lever: Lever,
    /// Its gravest change, after all that needs no permission and costs nothing.
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
}

/// Looks for a recipe that fits a budget, beginning with the one that is written.
pub fn search(
    model: &Model,
    written: &Recipe,
    budget: Bytes,
    allowed: Allowed,
) -> Result<Search, ModelError> {
    let apart = model.mixing()?.is_none();
    let may = |lever: &Lever| allowed.may(*lever, apart);
    let mut trials = vec![trial(model, (Vec::new(), *written))?];
    let mut found = trials[0].fits(budget).then_some(0);
    for candidate in candidates(written, may) {
        if found.is_some() {
            break;
        }
        trials.push(trial(model, candidate)?);
        found = trials.last().is_some_and(|trial| trial.fits(budget)).then_some(trials.len() - 1);
    }
    let advised = |lever: &Lever| !may(lever) && !allowed.is_withheld(*lever);
    let advice = if found.is_none() { advice(model, written, may, advised)? } else { Vec::new() };
    Ok(Search { trials, found, advice })
}

/// A recipe with what was changed to get it.
type Changed = (Vec<Change>, Recipe);

fn trial(model: &Model, (changes, recipe): Changed) -> Result<Trial, ModelError> {
    Ok(Trial { changes, needs: recipe.needs(model)?, recipe })
}

/// Recipes beside the one that is written, those with the gravest changes last.
fn candidates(written: &Recipe, may: impl Fn(&Lever) -> bool) -> Vec<Changed> {
    let mut candidates = vec![with_all_that_is_free(written, &may)];
    for lever in Lever::of(Home::TensorFlow).rev().filter(|lever| !is_free(lever) && may(lever)) {
        candidates = candidates.into_iter().flat_map(|one| with_and_without(one, lever)).collect();
    }
    candidates.retain(|(changes, recipe)| !changes.is_empty() && recipe.is_even());
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
    may: impl Fn(&Lever) -> bool,
    advised: impl Fn(&Lever) -> bool,
) -> Result<Vec<Advice>, ModelError> {
    let base = with_all_that_is_free(written, may);
    let levers = Lever::of(Home::TensorFlow).filter(advised);
    let gravest = levers.filter_map(|lever| Some((lever, with_the_gravest(&base, lever)?)));
    gravest.map(|(lever, changed)| Ok(Advice { lever, trial: trial(model, changed)? })).collect()
}
