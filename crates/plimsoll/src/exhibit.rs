//! A prepared job as an exhibit: the step's plans one after another, with what a plan knows and a trace does not: who
//! reads what.

use crate::{Bytes, Prepared};
use plimsoll_graph::{Graph, OpId, Phase, ValueId};
use plimsoll_plan::{Plan, VerifiedPlan, labels};
use plimsoll_report::exhibit::{Buffer, Doing, Exhibit, Kept};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

impl Prepared {
    /// The step as a report shows it; whoever knows its name and limit adds them. Micro-batches of one size are shown
    /// once, then the updates; what lives across steps spans all.
    pub fn exhibit(&self) -> Exhibit {
        let mut exhibit = Exhibit::default();
        let mut residents = HashMap::new();
        let whole = self.parts.len() == 1 && self.updates.is_none();
        for part in &self.parts {
            if !whole {
                let times = self.sizes().into_iter().filter(|rows| *rows == part.rows).count();
                exhibit.marks.push((exhibit.ticks, format!("micro-batch of {}, {times} times", part.rows)));
            }
            append(&mut exhibit, &part.plan, &mut residents);
        }
        if let Some(updates) = &self.updates {
            exhibit.marks.push((exhibit.ticks, "updates".to_string()));
            append(&mut exhibit, &updates.plan, &mut residents);
        }
        let ticks = exhibit.ticks;
        for &index in residents.values() {
            exhibit.buffers[index].live = 0..ticks;
        }
        exhibit.buffers.sort_by_key(|buffer| buffer.live.start);
        exhibit.reserved = vec![(0, self.peak())];
        exhibit
    }

    /// The same with what it is, and what it may take.
    pub fn shown(&self, limit: Option<Bytes>) -> Exhibit {
        Exhibit { headline: self.headline(), limit, ..self.exhibit() }
    }
}

/// Adds a plan behind what is there. Buffers that live across steps are added once, however many plans use them.
fn append(exhibit: &mut Exhibit, proved: &VerifiedPlan, residents: &mut HashMap<(u64, String), usize>) {
    let (graph, plan) = (proved.graph(), proved.plan());
    let base = exhibit.ticks;
    exhibit.ticks += plan.order.len() as u32;
    if let Some(step) = plan.order.iter().position(|&id| graph.op(id).phase == Phase::Backward) {
        exhibit.marks.push((base + step as u32, "backward".to_string()));
    }
    exhibit.ops.extend(
        plan.order
            .iter()
            .map(|&id| doing(graph, id))
            .map(|(op, layer)| Doing { op: exhibit.texts.add(op), layer: exhibit.texts.add(layer) }),
    );
    let reads = Reads::of(graph, plan);
    for (index, (buffer, label)) in plan.buffers.iter().zip(labels(graph, plan)).enumerate() {
        if buffer.role.is_persistent() {
            let Entry::Vacant(place) = residents.entry((buffer.offset.0, label.value.clone())) else {
                continue;
            };
            place.insert(exhibit.buffers.len());
        }
        let kept = match reads.kept(graph, buffer, index) {
            Kept::Read { count, last } => Kept::Read { count, last: base + last },
            other => other,
        };
        let end = buffer.live.end.min(plan.order.len() as u32);
        let texts = &mut exhibit.texts;
        let names = [&label.value, &label.role, &label.layer, &label.op].map(|text| texts.add(text));
        let [value, role, layer, op] = names;
        let live = base + buffer.live.start..base + end.max(buffer.live.start);
        let (offset, bytes) = (buffer.offset, buffer.bytes);
        let again = label.again;
        exhibit.buffers.push(Buffer { live, offset, bytes, value, role, layer, op, again, kept });
    }
}

fn doing(graph: &Graph, id: OpId) -> (&'static str, &str) {
    let op = graph.op(id);
    (op.kind.name(), op.layer.map_or("", |layer| graph.layer_name(layer)))
}

/// For each buffer how many ops read it, and the step of the last.
struct Reads(Vec<(u32, u32)>);

impl Reads {
    fn of(graph: &Graph, plan: &Plan) -> Self {
        let mut reads = vec![(0, 0); plan.buffers.len()];
        for (step, &id) in plan.order.iter().enumerate() {
            let mut read: Vec<usize> =
                graph.op(id).inputs.iter().filter_map(|&v| buffer_of(plan, v)).collect();
            read.sort_unstable();
            read.dedup();
            for buffer in read {
                reads[buffer] = (reads[buffer].0 + 1, step as u32);
            }
        }
        Self(reads)
    }

    fn kept(&self, graph: &Graph, buffer: &plimsoll_plan::Buffer, index: usize) -> Kept {
        let (count, last) = self.0[index];
        match () {
            () if buffer.role.is_persistent() => Kept::AcrossSteps,
            () if buffer.values.is_empty() => Kept::Scratch,
            () if buffer.values.iter().any(|value| graph.outputs().contains(value)) => Kept::ForCaller,
            () => Kept::Read { count, last },
        }
    }
}

fn buffer_of(plan: &Plan, value: ValueId) -> Option<usize> {
    plan.storage[value.index()].map(|id| id.0 as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Job};
    use plimsoll_model::zoo;
    use plimsoll_report::exhibit::Figures;

    #[test]
    fn a_plan_keeps_its_figures_and_says_who_reads_what() {
        let prepared = Job::new(zoo::find("cnn@8,channels=1").unwrap(), 4).prepare().unwrap();
        let exhibit = prepared.exhibit();
        let figures = Figures::of(&exhibit);
        assert_eq!((figures.peak, figures.floor), (prepared.plan().peak, prepared.plan().floor));
        assert_eq!(exhibit.ticks as usize, prepared.plan().order.len());
        let activation = exhibit.buffers.iter().find(|buffer| {
            exhibit.texts.get(buffer.role) == "activation" && matches!(buffer.kept, Kept::Read { .. })
        });
        let activation = activation.unwrap();
        let Kept::Read { count, last } = activation.kept else { panic!("an op reads it") };
        assert!(count >= 1 && last < activation.live.end, "{activation:?}");
        // Whoever reads it last is why it is live until then.
        assert_eq!(last + 1, activation.live.end);
        assert!(exhibit.buffers.iter().any(|buffer| buffer.kept == Kept::AcrossSteps));
        assert_eq!(exhibit.marks.len(), 1);
    }

    #[test]
    fn micro_batches_share_what_lives_across_steps() {
        let mut job = Job::new(zoo::find("mlp@64").unwrap(), 5);
        job.micro_batches = 2;
        let prepared = job.prepare().unwrap();
        let exhibit = prepared.exhibit();
        let figures = Figures::of(&exhibit);
        assert!(figures.peak <= prepared.peak() && figures.floor <= figures.peak);
        let marks: Vec<&str> = exhibit.marks.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(
            marks,
            ["micro-batch of 3, 1 times", "backward", "micro-batch of 2, 1 times", "backward", "updates"]
        );
        let across: Vec<_> = exhibit.buffers.iter().filter(|b| b.kept == Kept::AcrossSteps).collect();
        let bytes: Bytes = across.iter().map(|buffer| buffer.bytes).sum();
        assert_eq!(bytes, prepared.plan().persistent);
        assert!(across.iter().all(|buffer| buffer.live == (0..exhibit.ticks)));
    }
}
