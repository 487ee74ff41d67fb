//! A better order of the tasks, where the graph leaves freedom.
//!
//! A task that frees more than it takes is pulled forward as soon as everything it reads is there, out of the next few
//! tasks. That is how the gradient of a filter comes before the gradient of the image: it lets the image go before
//! another of its size is made.

use super::{Problem, Task};
use std::collections::VecDeque;

/// How many tasks ahead are looked at.
const WINDOW: usize = 16;

/// The same problem with its tasks in another order.
pub fn settled(problem: &Problem) -> Problem {
    let mut settler = Settler::new(problem);
    let mut waiting: VecDeque<usize> = (0..problem.tasks.len()).collect();
    let mut order = Vec::with_capacity(problem.tasks.len());
    while !waiting.is_empty() {
        let position = settler.best(&waiting);
        if let Some(task) = waiting.remove(position) {
            settler.run(task);
            order.push(task);
        }
    }
    reordered(problem, &order)
}

struct Settler<'a> {
    problem: &'a Problem,
    /// For each task, what it reads, each item once.
    reads: Vec<Vec<usize>>,
    is_there: Vec<bool>,
    /// For each item, how many tasks have yet to read it; one more if something else needs it later.
    readers: Vec<usize>,
}

impl<'a> Settler<'a> {
    fn new(problem: &'a Problem) -> Self {
        let reads: Vec<Vec<usize>> =
            problem.tasks.iter().map(|task| super::schedule::transient(problem, task)).collect();
        let mut readers: Vec<usize> = problem.items.iter().map(|item| usize::from(item.is_output)).collect();
        let by_updates = problem.updates.iter().flat_map(|update| &update.inputs);
        reads.iter().flatten().chain(by_updates).for_each(|&item| readers[item] += 1);
        let is_there = problem.items.iter().map(|item| item.producer.is_none()).collect();
        Self { problem, reads, is_there, readers }
    }

    /// Among the next tasks the one that frees most, if it frees more than it takes; otherwise the first.
    fn best(&self, waiting: &VecDeque<usize>) -> usize {
        let ready = |&position: &usize| self.reads[waiting[position]].iter().all(|&item| self.is_there[item]);
        let change = |&position: &usize| self.change(waiting[position]);
        let best =
            (0..waiting.len().min(WINDOW)).filter(ready).min_by_key(|position| (change(position), *position));
        best.filter(|position| change(position) < 0).unwrap_or(0)
    }

    /// By how much live bytes change.
    fn change(&self, task: usize) -> i64 {
        let bytes = |item: &usize| self.problem.items[*item].bytes as i64;
        let frees: i64 = self.reads[task].iter().filter(|&&item| self.readers[item] == 1).map(bytes).sum();
        self.problem.tasks[task].outputs.iter().map(bytes).sum::<i64>() - frees
    }

    fn run(&mut self, task: usize) {
        self.reads[task].iter().for_each(|&item| self.readers[item] -= 1);
        self.problem.tasks[task].outputs.iter().for_each(|&item| self.is_there[item] = true);
    }
}

fn reordered(problem: &Problem, order: &[usize]) -> Problem {
    let mut new = Problem { tasks: Vec::with_capacity(order.len()), ..problem.clone() };
    let tasks: Vec<&Task> = order.iter().map(|&task| &problem.tasks[task]).collect();
    tasks.into_iter().for_each(|task| new.add_task(task.clone()));
    new
}
