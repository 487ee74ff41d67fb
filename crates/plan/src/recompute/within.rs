//! A plan within a budget: recomputation until the *placed* peak fits, not only the live bytes.

use super::ladder::{self, Rung};
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
}

/// Plans a graph within a budget, computing values again where that is needed. A larger budget never gives a slower plan, nor none where a
/// smaller one gives one; and where none fits, the plan that is given is the same for every budget.
pub fn plan_within(graph: &Graph, setting: Setting<'_>, budget: Bytes) -> Within {
    let Setting { target, options, residents, costs, effort } = setting;
    let problem = Problem::of(graph, costs, target, options);
    let made = plan(graph, target, options, residents);
    let (fits, least) = (made.peak <= budget, Bytes(problem.least()));
    let unchanged = Within { rewritten: Rewritten::unchanged(graph), plan: made, extra: 0.0, fits, least };
    if fits {
        return unchanged;
    }
    let mut problems = vec![settled(&problem)];
    if problem.tasks.len() <= ladder::MANY {
        problems.push(problem);
    }
    let rungs = sorted(ladder::ladder(&problems));
    // Bytes between the persistent values of this graph and those of others beside it count for the budget, not for the search.
    let beside = Bytes(unchanged.plan.persistent.0.saturating_sub(problems[0].persistent));
    let chooser = Chooser { graph, setting, problems: &problems, budget, beside };
    match chooser.fastest(&rungs) {
        Some((chosen, made)) => chooser.refined(&rungs, chosen, unchanged.plan.peak, effort).unwrap_or(made),
        None => {
            let smallest = chooser.smallest(&rungs, unchanged);
            // What were faster than a larger plan would make that one look bad.
            let mut below = sorted(ladder::below(&problems, &rungs));
            below.retain(|rung| rung.found.sums.extra >= smallest.extra);
            let fastest = chooser.fastest(&below).map(|(_, made)| made);
            fastest.unwrap_or_else(|| chooser.smallest(&below, smallest))
        }
    }
}

/// The fastest first, of those that are equally fast the smallest.
fn sorted(mut rungs: Vec<Rung>) -> Vec<Rung> {
    let sums = |rung: &Rung| rung.found.sums;
    rungs.sort_by(|a, b| sums(a).extra.total_cmp(&sums(b).extra).then(sums(a).floor.cmp(&sums(b).floor)));
    rungs
}

/// Chooses among rungs by their placed plans, placing no more of them than it takes.
struct Chooser<'a> {
    graph: &'a Graph,
    setting: Setting<'a>,
    problems: &'a [Problem],
    budget: Bytes,
    /// What lies beside the plan for good.
    beside: Bytes,
}

impl Chooser<'_> {
    /// The first rung whose plan is within the budget.
    fn fastest(&self, rungs: &[Rung]) -> Option<(usize, Within)> {
        let may_fit = |(_, rung): &(usize, &Rung)| self.floor(rung) <= self.budget;
        let mut plans =
            rungs.iter().enumerate().filter(may_fit).map(|(index, rung)| (index, self.planned(rung)));
        plans.find(|(_, made)| made.fits)
    }

    /// A plan between the chosen rung and the next faster one.
    fn refined(&self, rungs: &[Rung], chosen: usize, plain: Bytes, effort: u64) -> Option<Within> {
        let neighbour = self.neighbour(&rungs[..chosen], plain);
        let mut finer = sorted(ladder::between(self.problems, neighbour, &rungs[chosen], effort));
        // What is faster than the neighbour would make that one look bad.
        let range = neighbour.map_or(0.0, |rung| rung.found.sums.extra)..rungs[chosen].found.sums.extra;
        finer.retain(|rung| range.contains(&rung.found.sums.extra));
        self.fastest(&finer).map(|(_, made)| made)
    }

    /// Of rungs that are all faster than what was chosen, the one with the smallest plan; nothing if that is the plain plan.
    fn neighbour<'r>(&self, faster: &'r [Rung], plain: Bytes) -> Option<&'r Rung> {
        let (mut neighbour, mut smallest) = (None, plain);
        for rung in faster.iter().rev().filter(|rung| rung.found.sums.extra > 0.0) {
            if self.floor(rung) < smallest {
                let peak = self.planned(rung).plan.peak;
                if peak < smallest {
                    (neighbour, smallest) = (Some(rung), peak);
                }
            }
        }
        neighbour
    }

    /// The smallest plan of all.
    fn smallest(&self, rungs: &[Rung], unchanged: Within) -> Within {
        let mut by_floor: Vec<&Rung> = rungs.iter().collect();
        by_floor.sort_by_key(|rung| rung.found.sums.floor);
        let mut best = unchanged;
        for rung in by_floor {
            if self.floor(rung) < best.plan.peak {
                let made = self.planned(rung);
                if made.plan.peak < best.plan.peak {
                    best = made;
                }
            }
        }
        best
    }

    /// What no plan for a rung can do without.
    fn floor(&self, rung: &Rung) -> Bytes {
        self.beside + Bytes(rung.found.sums.floor)
    }

    fn planned(&self, rung: &Rung) -> Within {
        planned(self.graph, self.setting, &self.problems[rung.order], &rung.found, self.budget)
    }
}

/// Plans for several budgets, the largest first, each found from the one before: quicker than one by one, and almost as good. A plan may be
/// a little above its budget; the last is the smallest that was found.
pub fn frontier(graph: &Graph, setting: Setting<'_>, budgets: &[Bytes]) -> Vec<Within> {
    let problem = settled(&Problem::of(graph, setting.costs, setting.target, setting.options));
    let mut gaps = Scheduler::new(&problem).all_held();
    let mut points = Vec::new();
    for &budget in budgets {
        let found = search_from(&problem, gaps, budget.0, 0);
        points.push(planned(graph, setting, &problem, &found, budget));
        if found.sums.excess > 0 {
            break;
        }
        gaps = found.gaps;
    }
    points
}

fn planned(graph: &Graph, setting: Setting<'_>, problem: &Problem, found: &Found, budget: Bytes) -> Within {
    let runs = Scheduler::new(problem).runs(&found.gaps).to_vec();
    let rewritten = rewrite(graph, problem, &runs);
    let plan = plan(&rewritten.graph, setting.target, setting.options, setting.residents);
    let fits = plan.peak <= budget;
    Within { rewritten, plan, extra: found.sums.extra, fits, least: Bytes(problem.least()) }
}
