//! From a job to plans: the graphs that it runs, and a plan for each, before they are proved.

use crate::prepared::flops;
use crate::{Bytes, Job, JobError, MicroBatch, OnNan, Point, Prepared, micro_batches};
use plimsoll_graph::Graph;
use plimsoll_model::Mode;
use plimsoll_plan::recompute::{Planner, Setting, Within, frontier, verify_same};
use plimsoll_plan::{Plan, Residents, VerifiedPlan, plan};
use plimsoll_train::{
    ApplyingGraph, EvaluationGraph, Gated, TrainingGraph, accumulating_graph, applying_graph, averaged,
    evaluation_graph, gated, gated_updates, training_graph,
};

/// What a job runs, before it is planned.
pub(crate) struct Graphs {
    pub(crate) training: TrainingGraph,
    /// By the number of samples.
    pub(crate) parts: Vec<(usize, TrainingGraph)>,
    pub(crate) updates: Option<ApplyingGraph>,
}

/// Everything that a job runs, before its plans are proved.
pub(crate) struct Planned {
    pub(crate) training: TrainingGraph,
    pub(crate) parts: Vec<Draft>,
    pub(crate) updates: Option<(ApplyingGraph, Plan)>,
    /// With the number of samples.
    pub(crate) evaluation: (usize, EvaluationGraph, Plan),
}

/// A part before its plan is proved.
pub(crate) struct Draft {
    pub(crate) rows: usize,
    /// The graph that runs, proved to compute what the model does.
    pub(crate) training: TrainingGraph,
    pub(crate) plan: Plan,
}

/// How much a plan may take, and how long to look for a cheap one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    pub(crate) budget: Option<Bytes>,
    pub(crate) effort: u64,
    /// Whether the smallest plan is wanted where none fits; without that, nothing is looked for below the floor.
    pub(crate) smallest: bool,
}

impl Aim {
    /// How long to look for cheaper plans once there is one: a fraction of a second.
    const EFFORT: u64 = 1_000_000;

    pub(crate) const WHATEVER: Self = Self { budget: None, effort: 0, smallest: false };

    pub(crate) fn within(budget: Bytes) -> Self {
        Self { budget: Some(budget), effort: Self::EFFORT, smallest: true }
    }

    /// The first plan that is found.
    pub(crate) fn quickly_within(budget: Bytes) -> Self {
        Self { effort: 0, ..Self::within(budget) }
    }

    /// The same, where it makes no difference by how much a plan does not fit.
    pub(crate) fn or_none(self) -> Self {
        Self { smallest: false, ..self }
    }
}

impl Draft {
    /// Proves that a graph computes what a training graph does; whether a plan for it holds is still to be shown.
    pub(crate) fn new(
        rows: usize,
        training: &TrainingGraph,
        rewritten: Graph,
        plan: Plan,
    ) -> Result<Self, JobError> {
        let mut rewritten = rewritten;
        rewritten.trim();
        let values = verify_same(&training.graph, &rewritten)?;
        Ok(Self { rows, training: training.rewritten(rewritten, &values), plan })
    }

    pub(crate) fn proved(self, plan: &VerifiedPlan) -> MicroBatch {
        MicroBatch { rows: self.rows, training: self.training, plan: plan.clone() }
    }
}

impl Job {
    pub(crate) fn training_graph(&self) -> Result<TrainingGraph, JobError> {
        let forward = self.model.lower(self.batch, Mode::Training)?;
        let training = training_graph(forward, &self.objective, self.descent())?;
        let what = match (self.on_nan, self.settings.scales_itself()) {
            (OnNan::Skip, _) => Some(Gated::Everything),
            (OnNan::Stop, true) => Some(Gated::Updates),
            (OnNan::Stop, false) => None,
        };
        self.gated(training, what)
    }

    /// The graph of a micro-batch, whose statistics can be skipped if the job asks for it.
    pub(crate) fn accumulating_graph(&self, rows: usize) -> Result<TrainingGraph, JobError> {
        let forward = self.model.lower(rows, Mode::Training)?;
        let training = accumulating_graph(forward, &self.objective, &self.descent())?;
        let what = match self.on_nan {
            OnNan::Skip => Some(Gated::Everything),
            OnNan::Stop => None,
        };
        self.gated(training, what)
    }

    fn gated(&self, training: TrainingGraph, what: Option<Gated>) -> Result<TrainingGraph, JobError> {
        let mut training = match what {
            None => training,
            Some(what) => gated(&training, &self.descent(), what)?,
        };
        training.graph.trim();
        Ok(training)
    }

    /// What applies the sums of micro-batches, with updates that can be skipped if the job asks for it.
    pub(crate) fn applying_graph(&self, training: &TrainingGraph) -> Result<ApplyingGraph, JobError> {
        let descent = self.descent();
        let applying = applying_graph(training, &descent)?;
        match self.on_nan == OnNan::Skip || self.settings.scales_itself() {
            false => Ok(applying),
            true => Ok(gated_updates(&applying, training, &descent)?),
        }
    }

    /// What a step runs: the training graph, or accumulating graphs and one that applies what they added up.
    pub(crate) fn graphs(&self) -> Result<Graphs, JobError> {
        let training = self.training_graph()?;
        if self.micro_batches <= 1 {
            return Ok(Graphs { parts: vec![(self.batch, training.clone())], training, updates: None });
        }
        let mut sizes = micro_batches::sizes(self.batch, self.micro_batches);
        sizes.dedup();
        let part = |rows: usize| Ok::<_, JobError>((rows, self.accumulating_graph(rows)?));
        let parts = sizes.into_iter().map(part).collect::<Result<_, _>>()?;
        let updates = Some(self.applying_graph(&training)?);
        Ok(Graphs { training, parts, updates })
    }

    /// Places for what the graphs of a step in parts have in common.
    pub(crate) fn shared_residents(
        &self,
        parts: &[(usize, TrainingGraph)],
        updates: Option<&ApplyingGraph>,
    ) -> Option<Residents> {
        let updates = updates?;
        let all = parts.iter().map(|(_, part)| &part.graph).chain([&updates.graph]);
        Some(Residents::of_all(all, &self.target()))
    }

    /// What each op of a graph costs, in seconds.
    pub(crate) fn costs(&self, graph: &Graph) -> Vec<f64> {
        let slower = self.slower_by_lanes(graph);
        graph.op_ids().map(|id| self.profile.op_seconds(graph, id) * slower(id)).collect()
    }

    pub(crate) fn plan_part(
        &self,
        rows: usize,
        training: TrainingGraph,
        aim: Aim,
        residents: &Residents,
    ) -> Result<(Draft, Bytes), JobError> {
        let target = self.target();
        let costs = self.costs(&training.graph);
        let (options, effort) = (self.options, aim.effort);
        let watch = |looked| self.watch.tell(looked);
        let setting =
            Setting { target: &target, options, residents, costs: &costs, effort, watch: Some(&watch) };
        let planner = Planner::new(&training.graph, setting);
        let made = match aim.budget.filter(|&budget| aim.smallest || planner.may_fit(budget)) {
            Some(budget) => planner.within(budget),
            None => planner.plain(),
        };
        Ok((Draft::new(rows, &training, made.rewritten.graph, made.plan)?, made.least))
    }

    /// Adds the plans that follow from those of the micro-batches.
    pub(crate) fn plan_others(
        &self,
        training: TrainingGraph,
        parts: Vec<Draft>,
        updates: Option<ApplyingGraph>,
    ) -> Result<Planned, JobError> {
        let target = self.target();
        let graphs = parts.iter().map(|draft| &draft.training.graph);
        let graphs = graphs.chain(updates.as_ref().map(|updates| &updates.graph));
        let residents = Residents::of_all(graphs, &target);
        let peak = parts.iter().map(|draft| draft.plan.peak).max().unwrap_or_default();
        let updates = updates.map(|updates| {
            let made = plan(&updates.graph, &target, self.options, &residents);
            (updates, made)
        });
        let evaluation = self.plan_evaluation(&training, peak, &residents)?;
        Ok(Planned { training, parts, updates, evaluation })
    }

    /// The whole batch with less and less memory.
    pub(crate) fn frontier(&self, plain: &Prepared, budgets: &[Bytes]) -> Vec<Point> {
        let graph = &plain.training.graph;
        let (costs, residents) = (self.costs(graph), Residents::default());
        let target = self.target();
        let watch = |looked| self.watch.tell(looked);
        let setting = Setting {
            target: &target,
            options: self.options,
            residents: &residents,
            costs: &costs,
            effort: 0,
            watch: Some(&watch),
        };
        let point = |made: Within| {
            let (graph, peak) = (&made.rewritten.graph, made.plan.peak);
            let seconds = self.costs(graph).iter().sum();
            Point { peak, seconds, extra_flops: flops(graph) / flops(&plain.training.graph) - 1.0 }
        };
        frontier(graph, setting, budgets).into_iter().map(point).collect()
    }

    /// Halves the batch until the evaluation needs no more than the step does; batches that begin with what others have
    /// left are as large as those.
    fn plan_evaluation(
        &self,
        training: &TrainingGraph,
        peak: Bytes,
        residents: &Residents,
    ) -> Result<(usize, EvaluationGraph, Plan), JobError> {
        let target = self.target();
        let mut batch = self.batch;
        loop {
            let judging = self.evaluation_graph(training, batch)?;
            let made = plan(&judging.graph, &target, self.options, residents);
            if made.peak <= peak || batch == 1 || self.model.is_stateful() {
                return Ok((batch, judging, made));
            }
            batch = batch.div_ceil(2);
        }
    }

    /// What judges so many samples, by the averages of weights where some are kept.
    pub(crate) fn evaluation_graph(
        &self,
        training: &TrainingGraph,
        batch: usize,
    ) -> Result<EvaluationGraph, JobError> {
        let mut forward = self.model.lower(batch, Mode::Inference)?;
        averaged(&mut forward, training, &self.descent());
        let mut judging = evaluation_graph(forward, &self.objective)?;
        judging.graph.trim();
        Ok(judging)
    }

    /// The peak of a step, without the proof and the evaluation; for looking around.
    pub(crate) fn step_peak(&self) -> Result<Bytes, JobError> {
        let Graphs { parts: graphs, updates, .. } = self.graphs()?;
        let target = self.target();
        let residents = self.shared_residents(&graphs, updates.as_ref()).unwrap_or_default();
        let all =
            || graphs.iter().map(|(_, part)| &part.graph).chain(updates.iter().map(|updates| &updates.graph));
        let peaks = all().map(|graph| plan(graph, &target, self.options, &residents).peak);
        Ok(peaks.max().unwrap_or_default())
    }
}
