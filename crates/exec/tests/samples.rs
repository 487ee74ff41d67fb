//! What the analysis of samples calls apart is apart: random graphs are interpreted on a batch and on its halves, and
//! every value that is said to keep samples apart must have the same elements for each sample. `Mixed` promises
//! nothing.

use plimsoll_exec::reference::{Tensor, interpret};
use plimsoll_graph::op::{
    BatchNorm, BiasAdd, Binary, Broadcast, Concat, Fill, LayerNorm, LogSoftmax, MatMul, Pad, Reduce,
    Reduction, Reshape, Slice, Softmax, Transpose, Unary,
};
use plimsoll_graph::samples::{Samples, samples};
use plimsoll_graph::{Graph, Init, OpKind, Phase, Role, Shape, Site, Source, TensorType, ValueId};
use std::collections::HashMap;

const GRAPHS: u64 = 600;
const WHOLE: usize = 4;
const HALF: usize = 2;

#[test]
fn what_is_called_apart_is_apart() {
    let (mut apart, mut mixed) = (0, 0);
    for seed in 0..GRAPHS {
        let twins = Twins::random(&mut Dice(seed));
        let found = samples(&twins.whole, &twins.half);
        let whole = run(&twins.whole, 0);
        let halves = [run(&twins.half, 0), run(&twins.half, HALF)];
        for id in twins.whole.value_ids() {
            let [first, second] = [&halves[0][id.index()], &halves[1][id.index()]];
            let value = &whole[id.index()];
            let what = || format!("graph {seed}, {id}: {:?}", producer(&twins.whole, id));
            match found[id.index()] {
                Samples::Shared => assert!(near(value, first) && near(value, second), "{}", what()),
                Samples::Apart { axis, .. } => {
                    assert!(near(value, &joined(first, second, axis)), "{}", what());
                    apart += 1;
                }
                Samples::Mixed => mixed += 1,
            }
        }
    }
    assert!(apart > 4000 && mixed > 1000, "{apart} apart, {mixed} mixed: the graphs say little");
}

/// One graph for two numbers of samples.
struct Twins {
    whole: Graph,
    half: Graph,
    values: Vec<ValueId>,
}

/// An extent: so many elements, or so many for each sample.
#[derive(Clone, Copy, PartialEq)]
struct Extent {
    count: usize,
    grows: bool,
}

impl Extent {
    fn at(self, batch: usize) -> usize {
        self.count * if self.grows { batch } else { 1 }
    }
}

impl Twins {
    fn random(dice: &mut Dice) -> Self {
        let mut twins = Self { whole: Graph::new("whole"), half: Graph::new("half"), values: Vec::new() };
        let x = twins.given(|batch| TensorType::f32([batch, 2, 3]), Source::Input);
        let shared = twins.given(|_| TensorType::f32([3, 3]), Source::Persistent(Init::Constant(0.0)));
        let vector = twins.given(|_| TensorType::f32([3]), Source::Persistent(Init::Constant(0.0)));
        twins.values.extend([x, x, shared, vector]);
        for _ in 0..60 {
            let (a, b) = (twins.pick(dice), twins.pick(dice));
            twins.grow(dice, a, b);
        }
        twins
    }

    fn given(&mut self, tensor: impl Fn(usize) -> TensorType, source: Source) -> ValueId {
        let name = format!("{}", self.whole.values().len());
        let add = |graph: &mut Graph, batch: usize| match source {
            Source::Input => graph.add_input(name.as_str(), tensor(batch)),
            _ => {
                let init = Init::Constant(0.0);
                graph.add_persistent(name.as_str(), tensor(batch), Role::Parameter, init, None)
            }
        };
        add(&mut self.half, HALF).unwrap();
        add(&mut self.whole, WHOLE).unwrap()
    }

    /// Mostly a new value.
    fn pick(&self, dice: &mut Dice) -> ValueId {
        let back = dice.below(self.values.len()).min(dice.below(self.values.len()));
        self.values[self.values.len() - 1 - back]
    }

    /// Adds a random op, if both graphs take it.
    fn grow(&mut self, dice: &mut Dice, a: ValueId, b: ValueId) {
        let Some(extents) = self.extents(a) else { return };
        let rank = extents.len();
        let axis = if rank == 0 { 0 } else { dice.below(rank) };
        let flag = dice.below(2) == 1;
        let unit = || Fill { shape: [1].into(), value: 1.0 };
        match dice.below(15) {
            0 => self.add(|_| Unary::Tanh.into(), &[a]),
            1 => self.add(|_| Binary::Add.into(), &[a, b]),
            2 => self.add(|_| Binary::Maximum.into(), &[a, b]),
            3 => {
                let transpose_b = dice.below(2) == 1;
                self.add(|_| MatMul { transpose_a: flag, transpose_b }.into(), &[a, b]);
            }
            4 => {
                let reduction = [Reduction::Sum, Reduction::Mean, Reduction::Max][dice.below(3)];
                self.add(|_| Reduce { reduction, axes: vec![axis], keep_axes: flag }.into(), &[a]);
            }
            5 if flag => self.add(|_| Softmax {}.into(), &[a]),
            5 => self.add(|_| LogSoftmax {}.into(), &[a]),
            6 => self.add(|_| Transpose { order: rotated(rank, axis) }.into(), &[a]),
            7 => self.add(|_| Concat { axis }.into(), &[a, if flag { a } else { b }]),
            8 if rank > 0 => self.slice(&extents, axis, a),
            9 if rank > 0 => {
                let padded = |at: bool| (0..rank).map(|other| usize::from(at && other == axis)).collect();
                self.add(|_| Pad { before: padded(flag), after: padded(true), value: 0.5 }.into(), &[a]);
            }
            10 | 11 => self.reshape(dice, &extents, axis, a),
            12 => {
                let vector = self.values[3];
                match dice.below(3) {
                    0 => self.add(|_| BatchNorm { epsilon: 0.1 }.into(), &[a, vector, vector]),
                    1 => self.add(|_| LayerNorm { epsilon: 0.1 }.into(), &[a, vector, vector]),
                    _ => self.add(|_| BiasAdd {}.into(), &[a, vector]),
                }
            }
            13 => self.add(|batch| Fill { shape: [batch, 1, 1].into(), value: 0.25 }.into(), &[]),
            14 if flag => {
                self.add(|_| unit().into(), &[]);
                let one = *self.values.last().expect("it was added");
                self.add(|batch| Broadcast { shape: [batch * 2, 3].into() }.into(), &[one]);
            }
            _ => self.add(|batch| Broadcast { shape: [batch, 3, 3].into() }.into(), &[a]),
        }
    }

    /// The first half of an axis.
    fn slice(&mut self, extents: &[Extent], axis: usize, a: ValueId) {
        let size = |batch: usize| {
            let cut = |other: usize| {
                let extent = extents[other];
                if other == axis { Extent { count: extent.count.div_ceil(2), ..extent } } else { extent }
            };
            (0..extents.len()).map(|other| cut(other).at(batch)).collect()
        };
        self.add(|batch| Slice { start: vec![0; extents.len()], size: size(batch) }.into(), &[a]);
    }

    /// Two axes become one, one becomes two, or two trade their extents.
    fn reshape(&mut self, dice: &mut Dice, extents: &[Extent], axis: usize, a: ValueId) {
        let mut extents = extents.to_vec();
        let Some(&extent) = extents.get(axis) else { return };
        match (dice.below(3), extents.get(axis + 1).copied()) {
            (0, Some(next)) if !(extent.grows && next.grows) => {
                extents.remove(axis);
                extents[axis] =
                    Extent { count: extent.count * next.count, grows: extent.grows || next.grows };
            }
            (1, Some(_)) => extents.swap(axis, axis + 1),
            _ => {
                let factor =
                    (2..=extent.count).find(|factor| extent.count.is_multiple_of(*factor)).unwrap_or(1);
                extents[axis].count /= factor;
                extents.insert(axis + dice.below(2), Extent { count: factor, grows: false });
            }
        }
        let shape =
            |batch: usize| Shape::new(extents.iter().map(|extent| extent.at(batch)).collect::<Vec<_>>());
        self.add(|batch| Reshape { shape: shape(batch) }.into(), &[a]);
    }

    fn add(&mut self, kind: impl Fn(usize) -> OpKind, inputs: &[ValueId]) {
        let takes = |graph: &Graph, batch: usize| {
            let types: Vec<_> = inputs.iter().map(|&input| graph.tensor(input).clone()).collect();
            kind(batch).infer(&types).is_ok_and(|types| types.iter().all(|one| one.shape.elements() < 2000))
        };
        if takes(&self.whole, WHOLE) && takes(&self.half, HALF) {
            let site = Site { layer: None, phase: Phase::Forward };
            let made = self.whole.add_op(kind(WHOLE), inputs, site).unwrap();
            self.half.add_op(kind(HALF), inputs, site).unwrap();
            self.values.extend(made);
        }
    }

    /// How a value's extents depend on the number of samples; nothing where they do in a strange way.
    fn extents(&self, id: ValueId) -> Option<Vec<Extent>> {
        let [whole, half] = [&self.whole, &self.half].map(|graph| graph.tensor(id).shape.extents());
        let one = |(&whole, &half): (&usize, &usize)| match whole == half {
            true => Some(Extent { count: whole, grows: false }),
            false => (whole == 2 * half && whole.is_multiple_of(WHOLE))
                .then_some(Extent { count: whole / WHOLE, grows: true }),
        };
        whole.iter().zip(half).map(one).collect()
    }
}

/// Interprets a graph; its first sample is the given one of the whole batch.
fn run(graph: &Graph, first: usize) -> Vec<Tensor> {
    let given = graph.value_ids().filter(|&id| !matches!(graph.value(id).source, Source::Op(_)));
    let given: HashMap<ValueId, Tensor> = given
        .map(|id| {
            let value = graph.value(id);
            let skipped = if value.source == Source::Input { first * 6 } else { 0 };
            let number = |index: usize| ((index + skipped + 31 * id.index()) as f64 * 12.9898).sin();
            (id, Tensor::new(value.tensor.clone(), (0..value.tensor.shape.elements()).map(number).collect()))
        })
        .collect();
    interpret(graph, &given)
}

fn producer(graph: &Graph, id: ValueId) -> String {
    match graph.value(id).source {
        Source::Op(op) => format!("{:?} of {:?}", graph.op(op).kind, graph.op(op).inputs),
        _ => graph.value(id).name.clone(),
    }
}

/// Two halves one after another along an axis.
fn joined(first: &Tensor, second: &Tensor, axis: usize) -> Tensor {
    let run = |tensor: &Tensor| tensor.shape().extents()[axis..].iter().product::<usize>();
    let pairs = first.data.chunks(run(first)).zip(second.data.chunks(run(second)));
    let data: Vec<f64> = pairs.flat_map(|(first, second)| [first, second].concat()).collect();
    let mut extents = first.shape().extents().to_vec();
    extents[axis] += second.shape()[axis];
    Tensor::f32(Shape::new(extents), data)
}

fn near(one: &Tensor, two: &Tensor) -> bool {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()) || a.to_bits() == b.to_bits();
    let overflown = |(a, b): (&f64, &f64)| a.is_nan() && b.is_nan();
    one.tensor == two.tensor && one.data.iter().zip(&two.data).all(|pair| close(pair) || overflown(pair))
}

fn rotated(rank: usize, by: usize) -> Vec<usize> {
    (0..rank).map(|axis| (axis + by) % rank).collect()
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}
