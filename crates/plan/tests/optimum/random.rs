//! Random problems and budgets: whatever the search gives is valid, the same each time, and honest about the budget.

use crate::recount::recount;
use plimsoll_graph::OpId;
use plimsoll_plan::recompute::schedule::Scheduler;
use plimsoll_plan::recompute::{Item, Problem, Task, search};
use proptest::prelude::{Strategy, any, prop};
use proptest::{prop_assert, prop_assert_eq, proptest};

/// Tasks that read a few of the values in front of them; some write two.
fn problem() -> impl Strategy<Value = Problem> {
    let task =
        (prop::collection::vec(any::<prop::sample::Index>(), 1..4), 1..40_u64, 1..100_u32, any::<u8>());
    prop::collection::vec(task, 3..24).prop_map(|tasks| {
        let mut problem = Problem { turn: tasks.len() / 2, ..Problem::default() };
        problem.items.push(Item { bytes: 8, ..Item::default() });
        for (number, (reads, bytes, cost, kind)) in tasks.into_iter().enumerate() {
            let inputs: Vec<usize> = reads.iter().map(|index| index.index(problem.items.len())).collect();
            let first = problem.items.len();
            let count = if kind % 8 == 0 { 2 } else { 1 };
            problem.items.resize(first + count, Item { bytes, ..Item::default() });
            problem.add_task(Task {
                op: OpId(number as u32),
                inputs,
                outputs: (first..first + count).collect(),
                cost: f64::from(cost),
                scratch: 0,
                in_place: Vec::new(),
                overwrites: Vec::new(),
            });
        }
        problem
    })
}

proptest! {
    #[test]
    fn what_is_found_is_valid(problem in problem(), part in 0.0..1.1_f64) {
        let mut scheduler = Scheduler::new(&problem);
        let held = scheduler.all_held();
        let peak = scheduler.sums(&held, 0).floor;
        let budget = (peak as f64 * part) as u64;
        let found = search(&problem, budget, 20_000);
        let slow = recount(&problem, &found.gaps);
        prop_assert_eq!(slow.floor, found.sums.floor);
        prop_assert_eq!(slow.cost, problem.cost() + found.sums.extra);
        prop_assert_eq!(slow.floor <= budget, found.sums.excess == 0);
        prop_assert!(slow.floor >= problem.least());
        prop_assert!(budget < peak || found.sums.extra == 0.0, "nothing has to run again");
        let again = search(&problem, budget, 20_000);
        prop_assert_eq!((again.gaps, again.sums), (found.gaps, found.sums));
    }
}
