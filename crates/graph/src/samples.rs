//! Which axis of each value carries the samples of a batch, and whether samples stay apart.
//!
//! In: the graphs of one model for two numbers of samples. Out: for each value whether its elements can be told apart
//! by sample, and if not, the op to blame. Whoever cuts a batch (micro-batches, parts of a step, replicas) asks here
//! first.
//!
//! Method: what grows from one graph to the other are the samples. Inputs carry them on axis 0, one element each. A
//! value on which one axis grows in proportion, made by an op that does not look along it (`keeps_apart`, one rule in
//! each op's file), carries them on that axis. A value that does not grow and is made from samples is a mixture of
//! them; so is what a forward pass remembers, which parts of a batch would do several times.
//!
//! Equation: if a value is `Apart { axis, inner }`, then the elements `[s * inner, (s + 1) * inner)` of its axis are a
//! function of sample `s` and of what all samples share, the same function for any number of samples. Random numbers
//! are drawn by the position of an element, not by the sample ([`crate::OpKind::draws`]): the equation holds for any
//! draw, but parts of a batch draw other numbers than the whole.
//!
//! `Mixed` may be said of something that is apart (rules are simple where nothing needs more); the other way round
//! would be an error.

use crate::{Graph, Op, OpId, Shape, Source, ValueId};
use std::fmt;

/// How samples stand in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// The same whatever the samples are and however many: parameters, constants, the number of the step.
    Shared,
    /// One axis goes over the samples.
    Apart {
        /// Counted from the outermost.
        axis: usize,
        /// How many consecutive elements of the axis belong to each sample.
        inner: usize,
    },
    /// An element may depend on several samples.
    Mixed,
}

/// An op that lets samples of a batch see each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mixing {
    /// The op's name.
    pub op: &'static str,
    /// Its layer, or nothing.
    pub layer: String,
}

impl fmt::Display for Mixing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layer.as_str() {
            "" => f.write_str(self.op),
            layer => write!(f, "{} of layer `{layer}`", self.op),
        }
    }
}

/// How samples stand in each value of a graph. The other graph is the same model's for another number of samples; both
/// have at least two.
pub fn samples(graph: &Graph, other: &Graph) -> Vec<Samples> {
    let mut found = vec![Samples::Mixed; graph.values().len()];
    let Some(batches) = batches(graph, other) else { return found };
    let pair = Pair { graph, other, batches };
    for id in graph.value_ids() {
        if !matches!(graph.value(id).source, Source::Op(_)) {
            found[id.index()] = pair.given(id);
        }
    }
    for (op, twin) in graph.ops().iter().zip(other.ops()) {
        let alike = op.inputs == twin.inputs && op.outputs == twin.outputs && op.kind.is_like(&twin.kind);
        for (&output, samples) in op.outputs.iter().zip(pair.made(op, &found)) {
            found[output.index()] = if alike { samples } else { Samples::Mixed };
        }
    }
    found
}

/// What lets samples see each other on the way to an output of a forward graph, or to something it remembers; nothing
/// if a batch in parts is the same as a whole one.
pub fn mixing(graph: &Graph, other: &Graph) -> Option<Mixing> {
    let found = samples(graph, other);
    let apart = |&id: &ValueId| matches!(found[id.index()], Samples::Shared | Samples::Apart { axis: 0, .. });
    let remembered = graph.ops().iter().filter(|op| !op.kind.updates().is_empty());
    let remembered = remembered.flat_map(|op| op.outputs.iter().copied());
    let read = graph.outputs().iter().chain(graph.penalties());
    let bad = read.copied().filter(|id| !apart(id)).chain(remembered);
    let Some(culprit) = bad.filter_map(|id| culprit(graph, &found, id)).min() else { return masked(graph) };
    let op = graph.op(culprit);
    let layer = op.layer.map_or(String::new(), |layer| graph.layer_name(layer).to_string());
    Some(Mixing { op: op.kind.name(), layer })
}

/// A loss over the positions that a mask leaves divides by their number in all samples.
fn masked(graph: &Graph) -> Option<Mixing> {
    let mask = (0..graph.outputs().len()).find_map(|position| graph.beside(position).mask)?;
    let layer = graph.value(mask).layer.map_or(String::new(), |layer| graph.layer_name(layer).to_string());
    Some(Mixing { op: "the mean over what is not padding", layer })
}

/// What a rule sees of an op: the shapes of its inputs and outputs, and where samples stand in each.
pub(crate) struct Placed<'a> {
    pub(crate) inputs: Vec<Place<'a>>,
    pub(crate) outputs: Vec<Place<'a>>,
}

/// Where samples stand in a value; no axis for what all samples share.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) axis: Option<usize>,
    pub(crate) inner: usize,
}

impl Placed<'_> {
    /// Whether samples stand on axis 0 of the first so many inputs or nowhere in them, and nowhere in the others.
    pub(crate) fn outermost(&self, count: usize) -> bool {
        let (first, others) = self.inputs.split_at(count.min(self.inputs.len()));
        first.iter().all(|place| place.axis.is_none_or(|axis| axis == 0))
            && others.iter().all(|place| place.axis.is_none())
    }

    /// Whether no input has samples on its last axis.
    pub(crate) fn not_last(&self) -> bool {
        self.inputs.iter().all(|place| place.axis.is_none_or(|axis| axis + 1 != place.shape.rank()))
    }
}

impl Place<'_> {
    /// How many elements in a row belong to one sample.
    pub(crate) fn run(&self) -> Option<usize> {
        self.axis.map(|axis| self.inner * self.shape.extents()[axis + 1..].iter().product::<usize>())
    }
}

/// A graph, the same for another number of samples, and these numbers.
struct Pair<'a> {
    graph: &'a Graph,
    other: &'a Graph,
    batches: [usize; 2],
}

impl<'a> Pair<'a> {
    fn given(&self, id: ValueId) -> Samples {
        let is_input = self.graph.value(id).source == Source::Input;
        match self.grown(id) {
            Samples::Apart { axis: 0, inner: 1 } if is_input => Samples::Apart { axis: 0, inner: 1 },
            Samples::Shared => Samples::Shared,
            Samples::Apart { .. } | Samples::Mixed => Samples::Mixed,
        }
    }

    /// For each output of an op.
    fn made(&self, op: &Op, found: &[Samples]) -> Vec<Samples> {
        let inputs: Vec<Samples> = op.inputs.iter().map(|input| found[input.index()]).collect();
        let grown: Vec<Samples> = op.outputs.iter().map(|&output| self.grown(output)).collect();
        let all_shared = |samples: &[Samples]| samples.iter().all(|samples| *samples == Samples::Shared);
        if all_shared(&inputs) && all_shared(&grown) {
            return grown;
        }
        let mixed =
            inputs.contains(&Samples::Mixed) || !op.kind.keeps_apart(&self.placed(op, &inputs, &grown));
        let own = |samples: Samples| match samples {
            Samples::Apart { .. } if !mixed => samples,
            // What does not grow with the samples it is made from is a mixture of them.
            _ => Samples::Mixed,
        };
        grown.into_iter().map(own).collect()
    }

    fn placed(&self, op: &Op, inputs: &[Samples], outputs: &[Samples]) -> Placed<'a> {
        let place = |(&id, &samples): (&ValueId, &Samples)| {
            let shape = &self.graph.tensor(id).shape;
            match samples {
                Samples::Apart { axis, inner } => Place { shape, axis: Some(axis), inner },
                Samples::Shared | Samples::Mixed => Place { shape, axis: None, inner: 0 },
            }
        };
        Placed {
            inputs: op.inputs.iter().zip(inputs).map(place).collect(),
            outputs: op.outputs.iter().zip(outputs).map(place).collect(),
        }
    }

    /// What the shapes alone say: `Shared` if nothing grows, `Apart` if one axis does, by as many elements for each
    /// sample.
    fn grown(&self, id: ValueId) -> Samples {
        let [one, two] = [self.graph, self.other].map(|graph| graph.tensor(id));
        if one.element != two.element || one.shape.rank() != two.shape.rank() {
            return Samples::Mixed;
        }
        let mut growing = (0..one.shape.rank()).filter(|&axis| one.shape[axis] != two.shape[axis]);
        match (growing.next(), growing.next()) {
            (None, _) => Samples::Shared,
            (Some(axis), None) => {
                let inner = one.shape[axis] / self.batches[0];
                let fits = inner > 0
                    && self.batches.map(|batch| batch * inner) == [one.shape[axis], two.shape[axis]];
                if fits { Samples::Apart { axis, inner } } else { Samples::Mixed }
            }
            (Some(_), Some(_)) => Samples::Mixed,
        }
    }
}

/// The numbers of samples: what axis 0 of the first input that grows has. Nothing for graphs that are not of one model,
/// or of a single sample, whose shapes do not tell it from what all samples share.
fn batches(graph: &Graph, other: &Graph) -> Option<[usize; 2]> {
    let same = (graph.values().len(), graph.ops().len()) == (other.values().len(), other.ops().len());
    let first = |graph: &Graph, id: ValueId| graph.tensor(id).shape.extents().first().copied();
    let mut pairs = graph.inputs().filter_map(|id| Some([first(graph, id)?, first(other, id)?]));
    pairs.find(|[one, two]| one != two).filter(|batches| same && batches.iter().all(|&batch| batch >= 2))
}

/// The first op on the way to a value that makes a mixture of what is none.
fn culprit(graph: &Graph, found: &[Samples], value: ValueId) -> Option<OpId> {
    let Source::Op(id) = graph.value(value).source else { return None };
    let op = graph.op(id);
    let mixed = op.inputs.iter().find(|input| found[input.index()] == Samples::Mixed);
    mixed.and_then(|&input| culprit(graph, found, input)).or(Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{
        BatchNorm, Binary, Concat, Fill, MatMul, MovingAverage, Reduce, Reduction, Reshape, Slice,
    };
    use crate::op::{Softmax, Transpose, Unary};
    use crate::{Init, OpKind, Phase, Role, Site, TensorType};

    /// What is built on an input of so many samples of 6 elements.
    fn built(build: &dyn Fn(&mut Graph, ValueId, usize) -> ValueId) -> (Samples, Option<Mixing>) {
        let graph = |batch: usize| {
            let mut graph = Graph::new("g");
            let x = graph.add_input("x", TensorType::f32([batch, 6])).unwrap();
            let y = build(&mut graph, x, batch);
            graph.add_output(y);
            graph
        };
        let (two, three) = (graph(2), graph(3));
        (samples(&two, &three)[two.outputs()[0].index()], mixing(&two, &three))
    }

    fn add(graph: &mut Graph, kind: impl Into<OpKind>, inputs: &[ValueId]) -> ValueId {
        let site = Site { layer: None, phase: Phase::Forward };
        graph.add_op(kind.into(), inputs, site).unwrap()[0]
    }

    fn reshape(graph: &mut Graph, x: ValueId, shape: impl Into<Shape>) -> ValueId {
        add(graph, Reshape { shape: shape.into() }, &[x])
    }

    const ROWS: Samples = Samples::Apart { axis: 0, inner: 1 };

    #[test]
    fn reshapes_keep_samples_apart_as_long_as_their_elements_stay_in_a_row() {
        let cases: [(&dyn Fn(usize) -> Shape, Samples); 6] = [
            (&|b| [b, 2, 3].into(), ROWS),
            (&|b| [1, b, 6].into(), Samples::Apart { axis: 1, inner: 1 }),
            (&|b| [b * 2, 3].into(), Samples::Apart { axis: 0, inner: 2 }),
            (&|b| [b * 6].into(), Samples::Apart { axis: 0, inner: 6 }),
            (&|b| [2, b * 3].into(), Samples::Mixed),
            (&|b| [6, b].into(), Samples::Mixed),
        ];
        for (shape, wanted) in cases {
            let (found, mixing) = built(&|graph, x, batch| reshape(graph, x, shape(batch)));
            assert_eq!(found, wanted, "{}", shape(2));
            assert_eq!(mixing.is_none(), matches!(wanted, Samples::Apart { axis: 0, .. }), "{}", shape(2));
        }
        let (found, _) = built(&|graph, x, batch| {
            let flat = reshape(graph, x, [batch * 6]);
            reshape(graph, flat, [batch, 3, 2])
        });
        assert_eq!(found, ROWS);
    }

    #[test]
    fn what_looks_along_the_samples_mixes_them() {
        let transposed = |graph: &mut Graph, x: ValueId| add(graph, Transpose { order: vec![1, 0] }, &[x]);
        let mean = |axes: Vec<usize>, keep_axes| Reduce { reduction: Reduction::Mean, axes, keep_axes };
        type Build<'a> = &'a dyn Fn(&mut Graph, ValueId, usize) -> ValueId;
        let cases: [(&str, Build<'_>); 9] = [
            ("reduce", &|graph, x, _| {
                let mean = add(graph, mean(vec![0], true), &[x]);
                add(graph, Binary::Subtract, &[x, mean])
            }),
            ("reduce", &|graph, x, _| add(graph, mean(vec![0], false), &[x])),
            ("softmax", &|graph, x, _| {
                let columns = transposed(graph, x);
                let softmax = add(graph, Softmax {}, &[columns]);
                transposed(graph, softmax)
            }),
            ("matmul", &|graph, x, _| add(graph, MatMul { transpose_b: true, ..MatMul::default() }, &[x, x])),
            ("matmul", &|graph, x, _| add(graph, MatMul { transpose_a: true, ..MatMul::default() }, &[x, x])),
            ("concat", &|graph, x, _| add(graph, Concat { axis: 0 }, &[x, x])),
            ("slice", &|graph, x, b| {
                let twice = reshape(graph, x, [b * 2, 3]);
                add(graph, Slice { start: vec![0, 0], size: vec![b, 3] }, &[twice])
            }),
            ("batch_norm", &|graph, x, _| {
                let one = add(graph, Fill { shape: [6].into(), value: 1.0 }, &[]);
                add(graph, BatchNorm { epsilon: 0.1 }, &[x, one, one])
            }),
            ("unary", &|graph, x, batch| add(graph, Unary::MultiplyScalar(1.0 / batch as f32), &[x])),
        ];
        for (op, build) in cases {
            let (found, mixing) = built(build);
            assert_eq!(found, Samples::Mixed, "{op}");
            assert_eq!(mixing, Some(Mixing { op, layer: String::new() }));
        }
    }

    #[test]
    fn what_looks_along_other_axes_does_not() {
        type Build<'a> = &'a dyn Fn(&mut Graph, ValueId, usize) -> ValueId;
        let cases: [Build<'_>; 5] = [
            &|graph, x, _| add(graph, Softmax {}, &[x]),
            &|graph, x, batch| {
                let cube = reshape(graph, x, [batch, 2, 3]);
                add(graph, MatMul { transpose_b: true, ..MatMul::default() }, &[cube, cube])
            },
            &|graph, x, batch| {
                let fill = add(graph, Fill { shape: [batch, 1].into(), value: 2.0 }, &[]);
                let product = add(graph, Binary::Multiply, &[x, fill]);
                add(graph, Concat { axis: 1 }, &[product, x])
            },
            &|graph, x, batch| add(graph, Slice { start: vec![0, 1], size: vec![batch, 4] }, &[x]),
            &|graph, x, _| {
                let max = Reduce { reduction: Reduction::Max, axes: vec![1], keep_axes: false };
                add(graph, max, &[x])
            },
        ];
        for build in cases {
            assert_eq!(built(build), (ROWS, None));
        }
    }

    #[test]
    fn what_a_forward_pass_remembers_it_would_remember_once_a_part() {
        let (_, mixing) = built(&|graph, x, _| {
            let layer = graph.add_layer("layer");
            let tensor = TensorType::f32([6]);
            let moving =
                graph.add_persistent("m", tensor, Role::Statistic, Init::Constant(0.0), Some(layer)).unwrap();
            let fill = add(graph, Fill { shape: [6].into(), value: 2.0 }, &[]);
            graph
                .add_op(MovingAverage { momentum: 0.5 }.into(), &[moving, fill], Site::forward(layer))
                .unwrap();
            x
        });
        assert_eq!(mixing.unwrap().to_string(), "moving_average of layer `layer`");
    }
}
