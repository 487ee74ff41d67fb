//! A job whose peak is known: its graphs, each with a proved plan, all for one arena.

use crate::planning::{Aim, Graphs, Planned};
use crate::{Bytes, Job, JobError, OverBudget, micro_batches};
use plimsoll_graph::{Graph, Role, Value};
use plimsoll_plan::{
    Options, Plan, Residents, Usage, VerifiedArena, VerifiedPlan, bytes_of, graph_work, plan, usage,
    verify_arena,
};
use plimsoll_train::{Allowed, ApplyingGraph, EvaluationGraph, TrainingGraph};
use std::collections::BTreeMap;

/// A job whose peak is known.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job it was made from.
    pub job: Job,
    /// The graph of a whole step as the model is written, before anything is computed again or in parts.
    pub training: TrainingGraph,
    /// What a step runs, one for each size of micro-batch, the largest first; only one if the batch stays whole.
    pub parts: Vec<MicroBatch>,
    /// Applies what the micro-batches added up; nothing if the batch stays whole.
    pub updates: Option<Updates>,
    /// The proved plan that predicts a batch with the weights being trained, in the same arena.
    pub evaluation: Evaluation,
    /// The proof that all of these run in one arena: the plans of the parts, of the updates, of the evaluation, in this
    /// order. Of several lengths, only the first has an evaluation of its own.
    pub arena: VerifiedArena,
    /// What no plan for these micro-batches can do without, whatever is computed again.
    pub least: Bytes,
}

/// A plan for so many samples.
#[derive(Clone, Debug)]
pub struct MicroBatch {
    /// How many samples.
    pub rows: usize,
    /// The graph that runs, and the values the training loop writes and reads.
    pub training: TrainingGraph,
    /// The proved plan.
    pub plan: VerifiedPlan,
}

/// A plan that applies accumulated gradients.
#[derive(Clone, Debug)]
pub struct Updates {
    /// The graph, and the values the training loop writes.
    pub graph: ApplyingGraph,
    /// The proved plan.
    pub plan: VerifiedPlan,
}

/// A plan that predicts a batch and compares it with the truth.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// How many samples at once.
    pub batch: usize,
    /// The graph, and the values the caller writes and reads.
    pub judging: EvaluationGraph,
    /// The proved plan.
    pub plan: VerifiedPlan,
}

impl Prepared {
    /// Plans and proves a job beside weights that have their places. With a budget, values are computed again as far as
    /// it takes; if that is not enough, the smallest plan that was found is given.
    pub(crate) fn new(job: &Job, aim: Aim, residents: &Residents) -> Result<Self, JobError> {
        let Graphs { training, parts: graphs, updates } = job.graphs()?;
        let shared = job.shared_residents(&graphs, updates.as_ref());
        let residents = shared.as_ref().unwrap_or(residents);
        let mut least = Bytes::ZERO;
        let mut parts = Vec::new();
        for (rows, graph) in graphs {
            let (draft, part_least) = job.plan_part(rows, graph, aim, residents)?;
            least = least.max(part_least);
            parts.push(draft);
        }
        let planned = job.plan_others(training, parts, updates)?;
        Self::prove(job, planned, least)
    }

    /// Proves that everything that was planned for a job runs in one arena.
    pub(crate) fn prove(job: &Job, planned: Planned, least: Bytes) -> Result<Self, JobError> {
        let Planned { training, parts: drafts, updates, evaluation: (batch, judging, plan) } = planned;
        let mut plans: Vec<(Graph, Plan)> =
            drafts.iter().map(|draft| (draft.training.graph.clone(), draft.plan.clone())).collect();
        let updates = updates.map(|(updates, plan)| {
            plans.push((updates.graph.clone(), plan));
            updates
        });
        plans.push((judging.graph.clone(), plan));
        let arena = verify_arena(plans, &job.target())?;
        let (of_parts, others) = arena.plans().split_at(drafts.len());
        let parts = drafts.into_iter().zip(of_parts).map(|(draft, plan)| draft.proved(plan)).collect();
        let updates = updates.map(|graph| Updates { graph, plan: others[0].clone() });
        let evaluation = Evaluation { batch, judging, plan: others[others.len() - 1].clone() };
        Ok(Self { job: job.clone(), training, parts, updates, evaluation, arena, least })
    }

    /// The same as one of several lengths: what is trained is judged at another one, by the evaluation there.
    pub(crate) fn judged_by(self, other: &Self) -> Result<Self, JobError> {
        Ok(Self { arena: self.arena.without_last()?, evaluation: other.evaluation.clone(), ..self })
    }

    /// Whether the evaluation runs in this arena.
    pub(crate) fn has_evaluation(&self) -> bool {
        self.arena.plans().len() > self.parts.len() + usize::from(self.updates.is_some())
    }

    /// The same, if its peak is within a budget.
    pub(crate) fn within(self, budget: Bytes) -> Result<Self, JobError> {
        match self.peak() <= budget {
            true => Ok(self),
            false => Err(JobError::OverBudget(Box::new(OverBudget::explain(&self, budget, Allowed::EXACT)))),
        }
    }

    /// The proved plan of a step, or of its largest micro-batch.
    pub fn step(&self) -> &VerifiedPlan {
        &self.parts[0].plan
    }

    /// The plan of a step, or of its largest micro-batch.
    pub fn plan(&self) -> &Plan {
        self.step().plan()
    }

    /// What the whole run takes: the peak of the micro-batches, the updates and the evaluation.
    pub fn peak(&self) -> Bytes {
        self.arena.peak()
    }

    /// The most bytes live at once in the whole run.
    pub fn floor(&self) -> Bytes {
        self.arena.plans().iter().map(|plan| plan.plan().arena_floor()).max().unwrap_or_default()
    }

    /// The samples of each micro-batch.
    pub fn sizes(&self) -> Vec<usize> {
        micro_batches::sizes(self.job.batch, self.job.micro_batches)
    }

    /// The peak of the step if other ideas were allowed, and nothing was computed again or in parts.
    pub fn step_peak_with(&self, options: Options) -> Bytes {
        plan(&self.training.graph, &self.job.target(), options, &Residents::default()).peak
    }

    /// Where the step's memory goes.
    pub fn usage(&self) -> Usage {
        usage(self.step().graph(), self.plan())
    }

    /// What lives across steps, by role: of all the graphs of a step.
    pub fn persistent_by_role(&self) -> BTreeMap<Role, Bytes> {
        let graphs = self.parts[..1].iter().map(|part| part.plan.graph());
        let graphs = graphs.chain(self.updates.as_ref().map(|updates| updates.plan.graph()));
        let values = graphs.flat_map(|graph| graph.persistents().map(move |id| graph.value(id)));
        let by_name: BTreeMap<&str, &Value> = values.map(|value| (value.name.as_str(), value)).collect();
        let mut sums = BTreeMap::new();
        for value in by_name.into_values() {
            *sums.entry(value.role).or_default() += bytes_of(&value.tensor).aligned(self.plan().alignment);
        }
        sums
    }

    /// The floating-point operations of a step beyond those of the model as written, as a share of these.
    pub fn extra_flops(&self) -> f64 {
        self.sum_over_step(&flops) / flops(&self.training.graph) - 1.0
    }

    /// How long a step should take on the machine of the job's profile.
    pub fn seconds(&self) -> f64 {
        self.sum_over_step(&|graph| self.job.costs(graph).iter().sum())
    }

    /// How long a step should take at least with so many lanes, whatever is computed again.
    pub(crate) fn seconds_at_least(&self, lanes: usize) -> f64 {
        let job = self.job.with_lanes(lanes);
        self.sum_over_step(&|graph| {
            let costs = job.costs(graph).into_iter().zip(graph.ops());
            costs.filter(|(_, op)| !op.again).map(|(cost, _)| cost).sum()
        })
    }

    /// How long a step as the model is written should take.
    pub fn seconds_as_written(&self) -> f64 {
        self.job.costs(&self.training.graph).iter().sum()
    }

    fn sum_over_step(&self, quantity: &dyn Fn(&Graph) -> f64) -> f64 {
        let by_rows: Vec<(usize, f64)> =
            self.parts.iter().map(|part| (part.rows, quantity(part.plan.graph()))).collect();
        let of = |rows: usize| by_rows.iter().find(|(other, _)| *other == rows).map_or(0.0, |(_, sum)| *sum);
        let parts: f64 = self.sizes().into_iter().map(of).sum();
        parts + self.updates.as_ref().map_or(0.0, |updates| quantity(updates.plan.graph()))
    }
}

/// The floating-point operations of a graph.
pub(crate) fn flops(graph: &Graph) -> f64 {
    graph.op_ids().map(|id| graph_work(graph, id).flops as f64).sum()
}

impl MicroBatch {
    /// The ops that run again, by name; views cost nothing and are left out.
    pub fn again(&self) -> impl Iterator<Item = &'static str> + '_ {
        let again = self.plan.graph().ops().iter().filter(|op| op.again && !op.kind.is_view());
        again.map(|op| op.kind.name())
    }
}
