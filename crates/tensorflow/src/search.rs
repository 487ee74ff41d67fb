//! The search over what TensorFlow can be told: the recipe with the fewest changes that fits a number of bytes.
//!
//! Levers that leave the numbers the same come first: `tf.function` instead of eager steps, the whole limit at once instead of growth, and
//! accumulated gradients where samples do not see each other. Those that change numbers are tried only where they are allowed.

use crate::recipe::{Needs, Recipe};
use crate::setup::{Device, Mode, Precision, Setup};
use plimsoll_model::{Model, ModelError};
use plimsoll_trace::Bytes;
use plimsoll_train::Optimizer;

/// Levers whose use is up to the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// Accumulated gradients although samples of a batch see each other, as with batch normalization.
    pub accumulate: bool,
    /// A mixed dtype policy.
    pub precision: bool,
    /// An optimizer that keeps less.
    pub optimizer: bool,
    /// A smaller batch.
    pub batch: bool,
}

/// A recipe that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What is different from the model as written, in words; nothing for the model as written.
    pub changes: Vec<String>,
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
    /// What was not allowed, and what it would take.
    pub advice: Vec<Trial>,
}

impl Trial {
    /// Whether it runs in so many bytes.
    pub fn fits(&self, budget: Bytes) -> bool {
        self.needs.as_ref().is_some_and(|needs| needs.total() <= budget)
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
pub fn search(model: &Model, written: &Recipe, budget: Bytes, allow: Allow) -> Result<Search, ModelError> {
    let exact = model.mixing()?.is_none();
    let mut trials = vec![trial(model, Vec::new(), *written)?];
    let mut found = trials[0].fits(budget).then_some(0);
    for (changes, recipe) in candidates(written, Allow { accumulate: allow.accumulate || exact, ..allow }) {
        if found.is_some() {
            break;
        }
        trials.push(trial(model, changes, recipe)?);
        found = trials.last().is_some_and(|trial| trial.fits(budget)).then_some(trials.len() - 1);
    }
    let advice = if found.is_none() { advice(model, written, allow, exact)? } else { Vec::new() };
    Ok(Search { trials, found, advice })
}

fn trial(model: &Model, changes: Vec<String>, recipe: Recipe) -> Result<Trial, ModelError> {
    Ok(Trial { changes, needs: recipe.needs(model)?, recipe })
}

/// Recipes beside the one that is written, those with the gravest changes last.
fn candidates(written: &Recipe, allow: Allow) -> Vec<(Vec<String>, Recipe)> {
    let (free, base) = free_changes(written);
    let mut candidates = Vec::new();
    for batch in batches(written, allow) {
        for optimizer in optimizers(written, allow) {
            for precision in precisions(written, allow) {
                for accumulate in parts(written, batch, allow) {
                    let setup = Setup { optimizer, precision, accumulate, ..base.setup };
                    let recipe = Recipe { batch, setup, ..base };
                    let changes = [free.clone(), changes(written, &recipe)].concat();
                    if !changes.is_empty() {
                        candidates.push((changes, recipe));
                    }
                }
            }
        }
    }
    candidates
}

/// What costs nothing: a graph instead of eager steps, and on a GPU the limit as one region.
fn free_changes(written: &Recipe) -> (Vec<String>, Recipe) {
    let mut recipe = *written;
    let mut changes = Vec::new();
    if written.setup.mode == Mode::Eager {
        recipe.setup.mode = Mode::Graph;
        changes.push("tf.function".to_string());
    }
    if written.growth && written.setup.device == Device::Gpu {
        recipe.growth = false;
        changes.push("one region instead of growth".to_string());
    }
    (changes, recipe)
}

fn changes(written: &Recipe, recipe: &Recipe) -> Vec<String> {
    let mut changes = Vec::new();
    if recipe.batch != written.batch {
        changes.push(format!("batch {}", recipe.batch));
    }
    if recipe.setup.optimizer != written.setup.optimizer {
        changes.push(recipe.setup.optimizer.to_string());
    }
    if recipe.setup.precision != written.setup.precision {
        changes.push(recipe.setup.precision.name().to_string());
    }
    if recipe.setup.accumulate != written.setup.accumulate {
        changes.push(format!("{} micro-batches of {}", recipe.setup.accumulate, recipe.rows()));
    }
    changes
}

fn batches(written: &Recipe, allow: Allow) -> Vec<usize> {
    let halves = std::iter::successors(Some(written.batch), |batch| Some(batch / 2));
    halves.take_while(|&batch| batch > 0).take(if allow.batch { usize::MAX } else { 1 }).collect()
}

fn optimizers(written: &Recipe, allow: Allow) -> Vec<Optimizer> {
    let own = written.setup.optimizer;
    std::iter::once(own).chain(own.leaner().filter(|_| allow.optimizer)).collect()
}

fn precisions(written: &Recipe, allow: Allow) -> Vec<Precision> {
    let mixed = match written.setup.device {
        Device::Cpu => Precision::MixedBfloat16,
        Device::Gpu => Precision::MixedFloat16,
    };
    let own = written.setup.precision;
    let also = (allow.precision && !own.is_mixed()).then_some(mixed);
    std::iter::once(own).chain(also).collect()
}

/// Into how many equal parts a batch may be cut, the fewest first.
fn parts(written: &Recipe, batch: usize, allow: Allow) -> Vec<u32> {
    let own = written.setup.accumulate;
    let more = (1..=batch)
        .filter(|&parts| batch.is_multiple_of(parts))
        .filter_map(|parts| u32::try_from(parts).ok());
    let more = more.filter(|&parts| allow.accumulate && parts > own);
    let own = Some(own).filter(|&own| batch.is_multiple_of(own as usize));
    own.into_iter().chain(more).collect()
}

/// The most that each lever which was not allowed would give.
fn advice(model: &Model, written: &Recipe, allow: Allow, exact: bool) -> Result<Vec<Trial>, ModelError> {
    let all = Allow { accumulate: true, precision: true, optimizer: true, batch: true };
    let (free, base) = free_changes(written);
    let mut recipes = Vec::new();
    let mut consider = |lever: &str, setup: Setup, batch: usize| {
        let recipe = Recipe { batch, setup, ..base };
        let changes = changes(written, &recipe).join(" + ");
        if !changes.is_empty() {
            recipes.push((format!("--allow {lever}: {changes}"), recipe));
        }
    };
    if !(allow.accumulate || exact) {
        let accumulate = parts(written, written.batch, all).last().copied().unwrap_or(1);
        consider("accumulate", Setup { accumulate, ..base.setup }, written.batch);
    }
    if !allow.precision {
        let precision = *precisions(written, all).last().expect("one is written");
        consider("precision", Setup { precision, ..base.setup }, written.batch);
    }
    if !allow.optimizer {
        let optimizer = *optimizers(written, all).last().expect("one is written");
        consider("optimizer", Setup { optimizer, ..base.setup }, written.batch);
    }
    if !allow.batch {
        consider("batch", Setup { accumulate: 1, ..base.setup }, 1);
    }
    recipes
        .into_iter()
        .map(|(text, recipe)| trial(model, [free.clone(), vec![text]].concat(), recipe))
        .collect()
}
