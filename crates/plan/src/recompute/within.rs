//! A plan within a budget: recomputation until the *placed* peak fits, not only the live bytes.
//!
//! More memory is never worse. Schedules stand on a ladder that follows from the graph alone; the first, in the order
//! of their cost, whose plan fits is chosen, and then the way to the next cheaper one, whose plan does not, is halved
//! again and again. What is looked at there follows from these two alone, and costs no less than the one and less than
//! the other. So two budgets see the same until something fits only the larger of them, which then gets that or
//! cheaper, and the smaller one that or dearer.

use super::ladder::Ladder;
use super::schedule::Scheduler;
use super::{Found, Problem, Rewritten, rewrite, search_from, settled};
use crate::{Options, Plan, Residents, Target, plan};
use plimsoll_graph::Graph;
use plimsoll_trace::Bytes;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// What a search for a plan within a budget came to.
#[derive(Clone, Debug)]
pub struct Within {
    /// The graph of the plan; the given one, unless something is computed again.
    pub rewritten: Rewritten,
    /// A plan for it: within the budget, or the smallest that was found.
    pub plan: Plan,
    /// What computing again costs, in the unit of the costs.
    pub extra: f64,
    /// Whether the plan's peak is within the budget.
    pub fits: bool,
    /// What no plan for the given graph can do without, whatever is computed again.
    pub least: Bytes,
}

/// What a plan must know besides the graph and the budget.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What the plan is for.
    pub target: &'a Target,
    /// Which ideas may be used.
    pub options: Options,
    /// Persistent values that have their places.
    pub residents: &'a Residents,
    /// What each op costs, by its number.
    pub costs: &'a [f64],
    /// How long to look for cheaper decisions once some are found, in runs looked at.
    pub effort: u64,
    /// Is told what was looked at; may be called by any thread.
    pub watch: Option<&'a (dyn Fn(Looked) + Sync)>,
}

/// Something a search has looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The most bytes live at once in it.
    pub floor: Bytes,
    /// How many runs of tasks it took.
    pub runs: u64,
}

/// How often the way between two schedules is halved, and how often one change at a time is tried there.
const HALVINGS: usize = 7;
const SINGLY: usize = 2;

/// Plans a graph within a budget, computing values again where that is needed. A larger budget never gives a slower
/// plan, nor none where a smaller one gives one; and where none fits, the plan that is given is the same for every
/// budget.
pub fn plan_within(graph: &Graph, setting: Setting<'_>, budget: Bytes) -> Within {
    Planner::new(graph, setting).within(budget)
}

/// Plans one graph within any number of budgets; what was found for one is there for the next, and gives the same plan
/// as without it.
pub struct Planner<'a> {
    graph: &'a Graph,
    setting: Setting<'a>,
    /// The graph as it is.
    unchanged: Plan,
    /// Bytes between the persistent values of this graph and those of others beside it: they count for the budget, not
    /// for the search.
    beside: Bytes,
    ladder: Ladder<'a>,
    rungs: OnceCell<Vec<Found>>,
    /// Those, and smaller ones.
    all_rungs: OnceCell<Vec<Found>>,
    /// What was found between two schedules, by the bytes in which it had to be; and by the costs of the two, which say
    /// who they are.
    between: RefCell<HashMap<(u64, u64, u64), Vec<Found>>>,
}

impl<'a> Planner<'a> {
    /// Gets ready: the plain plan, and what no plan can do without.
    pub fn new(graph: &'a Graph, setting: Setting<'a>) -> Self {
        let Setting { target, options, residents, costs, effort, watch } = setting;
        let problem = Problem::of(graph, costs, target, options);
        let unchanged = plan(graph, target, options, residents);
        let beside = Bytes(unchanged.persistent.0.saturating_sub(problem.persistent));
        let ladder = Ladder::new(problem, effort, watch);
        let (rungs, all_rungs, between) = Default::default();
        Self { graph, setting, unchanged, beside, ladder, rungs, all_rungs, between }
    }

    /// Whether a plan within a budget may exist at all.
    pub fn may_fit(&self, budget: Bytes) -> bool {
        self.beside + Bytes(self.ladder.least()) <= budget
    }

    /// The plan in which nothing is computed again.
    pub fn plain(&self) -> Within {
        self.unchanged(self.unchanged.peak)
    }

    /// The plan for a budget.
    pub fn within(&self, budget: Bytes) -> Within {
        // Where the plain plan is as small as any, there is nothing to look for.
        if self.unchanged.peak <= budget || self.unchanged.peak <= self.beside + Bytes(self.ladder.least()) {
            return self.unchanged(budget);
        }
        let rungs = self.rungs.get_or_init(|| self.ladder.rungs());
        let (mut chosen, mut rungs) = (self.first_fitting(rungs, budget), rungs);
        if chosen.as_ref().is_none_or(|(index, _)| index + 1 == rungs.len()) {
            rungs = self.all_rungs.get_or_init(|| self.ladder.with_smaller(rungs));
            chosen = self.first_fitting(rungs, budget);
        }
        match chosen {
            None => self.smallest(rungs, budget),
            Some((0, made)) => made,
            Some((index, made)) => self.refined([&rungs[index - 1], &rungs[index]], made, budget),
        }
    }

    fn unchanged(&self, budget: Bytes) -> Within {
        Within {
            rewritten: Rewritten::unchanged(self.graph),
            plan: self.unchanged.clone(),
            extra: 0.0,
            fits: self.unchanged.peak <= budget,
            least: Bytes(self.ladder.least()),
        }
    }

    /// The first rung whose plan is within the budget.
    fn first_fitting(&self, rungs: &[Found], budget: Bytes) -> Option<(usize, Within)> {
        let fitting = |(index, rung)| Some((index, self.fitting(rung, budget)?));
        rungs.iter().enumerate().find_map(fitting)
    }

    /// Halves the way from a smaller rung, whose plan fits, to a larger one, whose plan does not.
    fn refined(&self, [larger, smaller]: [&Found; 2], mut best: Within, budget: Bytes) -> Within {
        let (mut larger, mut smaller) = (larger.clone(), smaller.clone());
        let (mut low, mut high) = (smaller.sums.floor, larger.sums.floor);
        for halving in 0..HALVINGS {
            let target = low + (high - low) / 2;
            if target == low {
                break;
            }
            let rungs = self.between(&larger, &smaller, target, halving < SINGLY);
            match self.first_fitting(&rungs, budget) {
                Some((index, made)) => {
                    (best, smaller, low) = (made, rungs[index].clone(), target);
                    larger = if index > 0 { rungs[index - 1].clone() } else { larger };
                }
                None => {
                    let last = rungs.last();
                    low = if last.is_none() { target } else { low };
                    high = if last.is_some() { target } else { high };
                    larger = last.cloned().unwrap_or(larger);
                }
            }
        }
        best
    }

    fn between(&self, larger: &Found, smaller: &Found, target: u64, singly: bool) -> Vec<Found> {
        let key = (target, larger.sums.extra.to_bits(), smaller.sums.extra.to_bits());
        if let Some(known) = self.between.borrow().get(&key) {
            return known.clone();
        }
        let found = self.ladder.between(larger, smaller, target, singly);
        self.between.borrow_mut().insert(key, found.clone());
        found
    }

    /// The smallest plan of all.
    fn smallest(&self, rungs: &[Found], budget: Bytes) -> Within {
        let mut best = self.unchanged(budget);
        for rung in rungs.iter().rev().filter(|rung| rung.sums.extra > 0.0) {
            if self.floor(rung) < best.plan.peak {
                let made = self.planned(rung, budget);
                best = if made.plan.peak < best.plan.peak { made } else { best };
            }
        }
        best
    }

    /// The plan of a rung, if it is within the budget.
    fn fitting(&self, rung: &Found, budget: Bytes) -> Option<Within> {
        let may_fit = self.floor(rung) <= budget;
        may_fit.then(|| self.planned(rung, budget)).filter(|made| made.fits)
    }

    /// What no plan for a rung can do without.
    fn floor(&self, rung: &Found) -> Bytes {
        self.beside + Bytes(rung.sums.floor)
    }

    fn planned(&self, rung: &Found, budget: Bytes) -> Within {
        planned(self.graph, self.setting, (self.ladder.problem(), self.ladder.least()), rung, budget)
    }
}

/// Plans for several budgets, the largest first, each found from the one before: quicker than one by one, and almost as
/// good. A plan may be a little above its budget; the last is the smallest that was found.
pub fn frontier(graph: &Graph, setting: Setting<'_>, budgets: &[Bytes]) -> Vec<Within> {
    let problem = settled(&Problem::of(graph, setting.costs, setting.target, setting.options));
    let least = problem.least();
    let mut gaps = Scheduler::new(&problem).all_held();
    let mut points = Vec::new();
    for &budget in budgets {
        let found = search_from(&problem, gaps, budget.0, 0);
        points.push(planned(graph, setting, (&problem, least), &found, budget));
        if found.sums.excess > 0 {
            break;
        }
        gaps = found.gaps;
    }
    points
}

fn planned(
    graph: &Graph,
    setting: Setting<'_>,
    (problem, least): (&Problem, u64),
    found: &Found,
    budget: Bytes,
) -> Within {
    let runs = Scheduler::new(problem).runs(&found.gaps);
    let rewritten = rewrite(graph, problem, &runs);
    let plan = plan(&rewritten.graph, setting.target, setting.options, setting.residents);
    let fits = plan.peak <= budget;
    Within { rewritten, plan, extra: found.sums.extra, fits, least: Bytes(least) }
}
