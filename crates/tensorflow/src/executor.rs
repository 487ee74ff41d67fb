//! The executor: in which order TensorFlow runs the kernels of a program, and what that does to memory.
//!
//! Graph mode is TensorFlow's executor on one thread (`tensorflow/core/common_runtime/executor.cc`): of the kernels
//! that one kernel makes ready, the last runs next and the others wait on a stack, since the thread that made them
//! ready takes its own newest task first. Eager mode runs kernels as Python calls them.

mod memory;

use crate::program::{KernelId, Program};
use memory::Memory;
use plimsoll_graph::LayerId;
use plimsoll_trace::Trace;
use std::collections::HashMap;

/// Who decides about the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The executor of a graph.
    ReadyStack,
    /// Python, call by call; nothing runs in place, since Python holds what was computed.
    AsWritten,
}

/// What of a training is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One step; the variables are there.
    OneStep,
    /// Making the variables, which has temporaries of its own, then so many steps.
    FromTheStart {
        /// How many steps.
        steps: usize,
    },
}

/// Runs a program and writes down what it takes and frees.
pub fn execute(
    program: &Program,
    order: Order,
    extent: Extent,
    layer_name: &dyn Fn(LayerId) -> String,
) -> Trace {
    let (with_build, steps) = match extent {
        Extent::OneStep => (false, 1),
        Extent::FromTheStart { steps } => (true, steps),
    };
    let mut memory = Memory::new(program, order == Order::ReadyStack, with_build, layer_name);
    for _ in 0..steps {
        memory.begin_step();
        match order {
            Order::AsWritten => program.kernel_ids().for_each(|id| memory.run(id)),
            Order::ReadyStack => run_ready(program, |id| memory.run(id)),
        }
    }
    memory.into_trace()
}

fn run_ready(program: &Program, mut run: impl FnMut(KernelId)) {
    let mut waiting = Waiting::new(program);
    for root in waiting.roots(program) {
        let mut stack = vec![root];
        while let Some(next) = stack.pop() {
            run(next);
            stack.extend(waiting.done(next));
        }
    }
    debug_assert!(waiting.missing.iter().all(|&missing| missing == 0), "kernels wait for each other");
}

/// What each kernel still waits for.
struct Waiting {
    missing: Vec<usize>,
    /// Those that wait for each kernel, in the order of the graph, which is that of the kernels but for deferred ones,
    /// which come first and so run last.
    followers: Vec<Vec<KernelId>>,
}

impl Waiting {
    fn new(program: &Program) -> Self {
        let mut writer = HashMap::new();
        for id in program.kernel_ids() {
            writer.extend(program.kernel(id).writes.iter().map(|&tensor| (tensor, id)));
        }
        let mut waiting = Self {
            missing: vec![0; program.kernels.len()],
            followers: vec![Vec::new(); program.kernels.len()],
        };
        for id in program.kernel_ids() {
            let kernel = program.kernel(id);
            let mut before: Vec<KernelId> = kernel
                .reads
                .iter()
                .filter_map(|tensor| writer.get(tensor).copied())
                .chain(kernel.after.clone())
                .collect();
            before.sort_unstable();
            before.dedup();
            waiting.missing[id.0 as usize] = before.len();
            before.iter().for_each(|earlier| waiting.followers[earlier.0 as usize].push(id));
        }
        for followers in &mut waiting.followers {
            followers.sort_by_key(|&id| !program.kernel(id).deferred);
        }
        waiting
    }

    /// The kernels that wait for nothing, those that depend on a seed alone first.
    fn roots(&self, program: &Program) -> Vec<KernelId> {
        let mut roots: Vec<KernelId> =
            program.kernel_ids().filter(|id| self.missing[id.0 as usize] == 0).collect();
        roots.sort_by_key(|&id| !program.kernel(id).early);
        roots
    }

    /// The kernels that this one was the last to keep waiting, in the order of the graph.
    fn done(&mut self, id: KernelId) -> Vec<KernelId> {
        let followers = std::mem::take(&mut self.followers[id.0 as usize]);
        followers
            .into_iter()
            .filter(|follower| {
                let missing = &mut self.missing[follower.0 as usize];
                *missing -= 1;
                *missing == 0
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Assignment, Kernel, Owner, Start, Tensor, TensorId};
    use plimsoll_graph::Role;
    use plimsoll_trace::{Event, Time, summarize};

    /// A program of tensors with sizes in bytes, and kernels that read some of them and write one.
    #[derive(Default)]
    struct Draft(Program);

    impl Draft {
        fn tensor(&mut self, owner: Owner, bytes: u64) -> TensorId {
            let tensor = Tensor { bytes, role: Role::Activation, layer: None, owner, name: String::new() };
            self.0.add_tensor(tensor)
        }

        fn kernel(&mut self, reads: &[TensorId], write: Option<u64>, in_place: bool) -> Option<TensorId> {
            let written = write.map(|bytes| self.tensor(Owner::Step, bytes));
            self.0.add_kernel(Kernel {
                name: "kernel",
                layer: None,
                reads: reads.to_vec(),
                writes: written.into_iter().collect(),
                scratch: Vec::new(),
                in_place,
                after: Vec::new(),
                assigns: None,
                early: false,
                deferred: false,
            });
            written
        }

        fn peak(&self, order: Order) -> u64 {
            summarize(&execute(&self.0, order, Extent::OneStep, &|_| String::new())).floor.0
        }
    }

    #[test]
    fn a_kernel_takes_the_place_of_an_operand_that_nobody_else_reads() {
        let mut draft = Draft::default();
        let x = draft.tensor(Owner::Caller, 8);
        let a = draft.kernel(&[x], Some(100), false).unwrap();
        let b = draft.kernel(&[a], Some(100), true).unwrap();
        draft.kernel(&[b], None, false);
        assert_eq!(draft.peak(Order::ReadyStack), 108);
        assert_eq!(draft.peak(Order::AsWritten), 208, "Python holds what it computed");
        draft.kernel(&[a, b], None, false);
        assert_eq!(draft.peak(Order::ReadyStack), 208, "somebody else reads it");
    }

    #[test]
    fn the_newest_ready_kernel_runs_first() {
        let mut draft = Draft::default();
        let x = draft.tensor(Owner::Caller, 0);
        let a = draft.kernel(&[x], Some(10), false).unwrap();
        let early = draft.kernel(&[a], Some(1000), false).unwrap();
        let late = draft.kernel(&[a], Some(100), false).unwrap();
        draft.kernel(&[early], None, false);
        let more = draft.kernel(&[late], Some(200), false).unwrap();
        draft.kernel(&[more], None, false);
        // The last reader of `a` goes first with all that follows it, so the large tensor is never beside the others.
        assert_eq!(draft.peak(Order::ReadyStack), 1010);
        assert_eq!(draft.peak(Order::AsWritten), 1110);
    }

    #[test]
    fn a_variable_that_is_still_read_is_copied() {
        for (read_later, peak) in [(true, 250), (false, 150)] {
            let mut draft = Draft::default();
            let variable = draft.tensor(Owner::Variable(Start::Filled), 100);
            let a = draft.kernel(&[variable], Some(50), false).unwrap();
            draft.kernel(&[a], None, false);
            draft.0.kernels[1].assigns = Some(Assignment::Change(variable));
            if read_later {
                draft.kernel(&[variable, a], None, false);
            }
            assert_eq!(draft.peak(Order::AsWritten), peak);
        }
    }

    #[test]
    fn drawn_variables_have_temporaries_and_nothing_is_left_after_a_step() {
        let mut draft = Draft::default();
        let variable = draft.tensor(Owner::Variable(Start::Drawn), 100);
        let a = draft.kernel(&[variable], Some(10), false).unwrap();
        draft.kernel(&[a], None, false);
        let trace =
            execute(&draft.0, Order::ReadyStack, Extent::FromTheStart { steps: 3 }, &|_| String::new());
        let summary = summarize(&trace);
        assert_eq!(summary.floor.0, 300);
        assert_eq!(summary.timeline.last().map(|moment| moment.time), Some(Time(6)));
        let takes = trace.events.iter().filter(|event| matches!(event, Event::Take { .. })).count();
        assert_eq!((takes, trace.events.len()), (6, 11), "only the variable stays");
    }
}
