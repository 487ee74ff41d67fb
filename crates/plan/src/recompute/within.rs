//! A plan within a budget: recomputation until the *placed* peak fits, not only the live bytes.

use super::schedule::Scheduler;
use super::{Problem, Rewritten, rewrite, search, settled};
use crate::{Kernels, Options, Plan, Residents, plan};
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
    /// What kernels need.
    pub kernels: &'a dyn Kernels,
    /// Which ideas may be used.
    pub options: Options,
    /// Persistent values that have their places.
    pub residents: &'a Residents,
    /// What each op costs, by its number.
    pub costs: &'a [f64],
    /// How long to look for cheaper decisions once some are found, in runs looked at.
    pub effort: u64,
}

/// How often the search aims lower because the layout needed more than the live bytes.
const ATTEMPTS: usize = 6;

/// Plans a graph within a budget, computing values again where that is needed.
pub fn plan_within(graph: &Graph, setting: Setting<'_>, budget: Bytes) -> Within {
    let Setting { kernels, options, residents, costs, effort } = setting;
    let mut problem = Problem::of(graph, costs, kernels, options);
    let least = Bytes(problem.least());
    let made = plan(graph, kernels, options, residents);
    let fits = made.peak <= budget;
    let mut best = Within { rewritten: Rewritten::unchanged(graph), plan: made, extra: 0.0, fits, least };
    // Bytes between the persistent values of this graph and those of others beside it count for the budget, not for the search.
    let beside = best.plan.persistent.0.saturating_sub(problem.persistent);
    let mut target = budget.0.saturating_sub(beside);
    if !best.fits {
        problem = better_order(problem, target);
    }
    for _ in 0..ATTEMPTS {
        if best.fits {
            break;
        }
        let found = search(&problem, target, effort);
        let runs = Scheduler::new(&problem).runs(&found.gaps).to_vec();
        let rewritten = rewrite(graph, &problem, &runs);
        let made = plan(&rewritten.graph, kernels, options, residents);
        let over = made.peak.saturating_sub(budget);
        let fits = over == Bytes::ZERO;
        if fits || made.peak < best.plan.peak {
            best = Within { rewritten, plan: made, extra: found.sums.extra, fits, least };
        }
        if found.sums.excess > 0 {
            break;
        }
        target = target.saturating_sub(over.0);
    }
    best
}

/// The problem with the order of its tasks in which a first search comes out cheaper.
fn better_order(problem: Problem, target: u64) -> Problem {
    let settled = settled(&problem);
    let rank = |problem: &Problem| {
        let sums = search(problem, target, 0).sums;
        (sums.excess, sums.extra)
    };
    if rank(&settled) < rank(&problem) { settled } else { problem }
}
