//! A plan within a budget: recomputation until the *placed* peak fits, not only the live bytes.
//!
//! More memory is never worse. Schedules stand on a ladder that follows from the graph alone; the first, in the order
//! of their cost, whose plan fits is chosen, and then the way to the next cheaper one is halved again and again. What is
//! found on that way costs no less than the cheaper one, which every larger budget can have, and each halving is either
//! the same for two budgets or is better for the larger one.

use super::ladder::{Ladder, better_order};
use super::schedule::Scheduler;
use super::{Found, Problem, Rewritten, rewrite, search_from, settled};
use crate::{Options, Plan, Residents, Target, plan};
use plimsoll_graph::Graph;
use plimsoll_trace::Bytes;

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
}

/// How often the way between two schedules is halved, and how often it is looked for one from the beginning there.
const HALVINGS: usize = 6;
const AFRESH: usize = 2;

/// Of so many tasks only one order is looked at.
const MANY: usize = 2000;

/// Plans a graph within a budget, computing values again where that is needed. A larger budget never gives a slower
/// plan, nor none where a smaller one gives one; and where none fits, the plan that is given is the same for every
/// budget.
pub fn plan_within(graph: &Graph, setting: Setting<'_>, budget: Bytes) -> Within {
    let Setting { target, options, residents, costs, effort, watch } = setting;
    let problem = Problem::of(graph, costs, target, options);
    let made = plan(graph, target, options, residents);
    let (fits, least) = (made.peak <= budget, Bytes(problem.least()));
    let unchanged = Within { rewritten: Rewritten::unchanged(graph), plan: made, extra: 0.0, fits, least };
    if fits {
        return unchanged;
    }
    // Bytes between the persistent values of this graph and those of others beside it count for the budget, not for the
    // search.
    let beside = Bytes(unchanged.plan.persistent.0.saturating_sub(problem.persistent));
    let problem = in_order(problem, least.0);
    let ladder = Ladder { problem: &problem, least: least.0, effort, watch };
    let chooser = Chooser { graph, setting, ladder, budget, beside };
    let mut rungs = chooser.ladder.rungs();
    let mut chosen = chooser.first_fitting(&rungs);
    if chosen.as_ref().is_none_or(|(index, _)| index + 1 == rungs.len()) {
        rungs = chooser.ladder.with_smaller(rungs);
        chosen = chooser.first_fitting(&rungs);
    }
    match chosen {
        None => chooser.smallest(&rungs, unchanged),
        Some((0, made)) => made,
        Some((index, made)) => chooser.refined([&rungs[index - 1], &rungs[index]], made),
    }
}

/// The problem with its tasks in the order that is better for computing again: that of the graph, or a settled one.
fn in_order(problem: Problem, least: u64) -> Problem {
    let settled = settled(&problem);
    let is_same = settled.tasks.iter().zip(&problem.tasks).all(|(one, other)| one.op == other.op);
    if is_same || problem.tasks.len() > MANY { settled } else { better_order([settled, problem], least) }
}

/// Chooses among rungs by their placed plans, placing no more of them than it takes.
struct Chooser<'a> {
    graph: &'a Graph,
    setting: Setting<'a>,
    ladder: Ladder<'a>,
    budget: Bytes,
    /// What lies beside the plan for good.
    beside: Bytes,
}

impl Chooser<'_> {
    /// The first rung whose plan is within the budget.
    fn first_fitting(&self, rungs: &[Found]) -> Option<(usize, Within)> {
        let mut fitting =
            rungs.iter().enumerate().filter_map(|(index, rung)| Some((index, self.fitting(rung)?)));
        fitting.next()
    }

    /// Halves the way from a smaller rung, whose plan fits, to a larger one, whose plan does not.
    fn refined(&self, [larger, smaller]: [&Found; 2], mut best: Within) -> Within {
        let (mut larger, mut smaller) = (larger.clone(), smaller.clone());
        let (mut low, mut high) = (smaller.sums.floor, larger.sums.floor);
        for halving in 0..HALVINGS {
            let target = low + (high - low) / 2;
            let Some(rung) = self.ladder.between(&larger, &smaller, target, halving < AFRESH) else {
                low = target;
                continue;
            };
            match self.fitting(&rung) {
                Some(made) => (best, smaller, low) = (made, rung, target),
                None => (larger, high) = (rung, target),
            }
        }
        best
    }

    /// The smallest plan of all.
    fn smallest(&self, rungs: &[Found], unchanged: Within) -> Within {
        let mut best = unchanged;
        for rung in rungs.iter().rev().filter(|rung| rung.sums.extra > 0.0) {
            if self.floor(rung) < best.plan.peak {
                let made = self.planned(rung);
                best = if made.plan.peak < best.plan.peak { made } else { best };
            }
        }
        best
    }

    /// The plan of a rung, if it is within the budget.
    fn fitting(&self, rung: &Found) -> Option<Within> {
        let may_fit = self.floor(rung) <= self.budget;
        may_fit.then(|| self.planned(rung)).filter(|made| made.fits)
    }

    /// What no plan for a rung can do without.
    fn floor(&self, rung: &Found) -> Bytes {
        self.beside + Bytes(rung.sums.floor)
    }

    fn planned(&self, rung: &Found) -> Within {
        planned(self.graph, self.setting, (self.ladder.problem, self.ladder.least), rung, self.budget)
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
    let runs = Scheduler::new(problem).runs(&found.gaps).to_vec();
    let rewritten = rewrite(graph, problem, &runs);
    let plan = plan(&rewritten.graph, setting.target, setting.options, setting.residents);
    let fits = plan.peak <= budget;
    Within { rewritten, plan, extra: found.sums.extra, fits, least: Bytes(least) }
}
