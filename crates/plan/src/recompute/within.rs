//! A plan within a budget: recomputation until the *placed* peak fits, not only the live bytes.

use super::schedule::Scheduler;
use super::{Found, Problem, Rewritten, rewrite, search, search_from, settled};
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

/// How often the search aims lower because the layout needed more than the live bytes.
const ATTEMPTS: usize = 6;

/// Plans a graph within a budget, computing values again where that is needed.
pub fn plan_within(graph: &Graph, setting: Setting<'_>, budget: Bytes) -> Within {
    let Setting { target, options, residents, costs, .. } = setting;
    let problem = Problem::of(graph, costs, target, options);
    let made = plan(graph, target, options, residents);
    let (fits, least) = (made.peak <= budget, Bytes(problem.least()));
    let unchanged = Within { rewritten: Rewritten::unchanged(graph), plan: made, extra: 0.0, fits, least };
    if fits {
        return unchanged;
    }
    // Bytes between the persistent values of this graph and those of others beside it count for the budget, not for the
    // search.
    let beside = unchanged.plan.persistent.0.saturating_sub(problem.persistent);
    let mut aim = budget.0.saturating_sub(beside);
    let (problem, mut found) = first_search(problem, aim, setting.effort);
    let mut best = unchanged;
    for _ in 0..ATTEMPTS {
        let made = planned(graph, setting, &problem, &found, budget);
        let over = made.plan.peak.saturating_sub(budget);
        if made.fits || made.plan.peak < best.plan.peak {
            best = made;
        }
        if best.fits || found.sums.excess > 0 {
            break;
        }
        aim = aim.saturating_sub(over.0);
        found = search_from(&problem, found.gaps, aim, 0);
    }
    best
}

/// Plans for several budgets, the largest first, each found from the one before: quicker than one by one, and almost as
/// good. A plan may be a little above its budget; the last is the smallest that was found.
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

/// Searches with the tasks in the order of the graph and in a better one, and goes on with what came out cheaper.
fn first_search(problem: Problem, target: u64, effort: u64) -> (Problem, Found) {
    let settled = settled(&problem);
    let [first, second] = [&problem, &settled].map(|problem| search(problem, target, 0));
    let rank = |found: &Found| (found.sums.excess, found.sums.extra);
    let (problem, found) = if rank(&second) < rank(&first) { (settled, second) } else { (problem, first) };
    let found = match found.sums.excess > 0 {
        true => search(&problem, target, effort),
        false => search_from(&problem, found.gaps, target, effort),
    };
    (problem, found)
}

fn planned(graph: &Graph, setting: Setting<'_>, problem: &Problem, found: &Found, budget: Bytes) -> Within {
    let runs = Scheduler::new(problem).runs(&found.gaps).to_vec();
    let rewritten = rewrite(graph, problem, &runs);
    let plan = plan(&rewritten.graph, setting.target, setting.options, setting.residents);
    let fits = plan.peak <= budget;
    Within { rewritten, plan, extra: found.sums.extra, fits, least: Bytes(problem.least()) }
}
