//! Connectionist temporal classification (Graves et al., 2006): the probability of a sequence of labels, whatever the
//! steps at which they stand. Labels are numbers from 1 on, filled up with 0, which is the blank as well.
//!
//! The forward variables are computed step by step, in logarithms. They stand for the labels with a blank before,
//! between and after them; at each step one stays, goes one on, or leaves out a blank between two labels that differ.

use super::Rows;
use plimsoll_graph::op::{
    Binary, Broadcast, Cast, Concat, Cumulate, Fill, LogSoftmax, NotEqual, Reduce, Reduction, Reshape,
    Select, Slice, TakeAlong, Unary,
};
use plimsoll_graph::{ElementType, Shape, ShapeError, ValueId};

/// The logarithm of what is impossible.
const NEVER: f32 = -1e30;

impl Rows<'_> {
    /// Minus the logarithm of the probability of each sample's labels.
    pub(super) fn ctc(&mut self, p: ValueId, t: ValueId) -> Result<ValueId, ShapeError> {
        let [samples, steps, _] = self.graph.tensor(p).shape.extents() else {
            unreachable!("it was checked")
        };
        let (samples, steps) = (*samples, *steps);
        let places = self.places(t)?;
        let extent = self.classes(places);
        let emitted = self.emitted(p, places)?;
        let leaps = self.leaps(places)?;
        let mut at = self.emitted_at(emitted, 0)?;
        if extent > 2 {
            let start = self.op(slice(samples, 0, 2), &[at])?;
            let never = self.never(samples, extent - 2)?;
            at = self.op(Concat { axis: 1 }, &[start, never])?;
        }
        for step in 1..steps {
            let (one, two) = (self.moved(at, 1)?, self.moved(at, 2)?);
            let two = self.op(Binary::Add, &[two, leaps])?;
            let reached = self.log_sum([at, one, two])?;
            let here = self.emitted_at(emitted, step)?;
            at = self.op(Binary::Add, &[reached, here])?;
        }
        let ends = self.ends(t, extent)?;
        let never = self.scalar(NEVER)?;
        let at = self.op(Select {}, &[ends, at, never])?;
        let log = self.log_sum_of_row(at)?;
        self.op(Unary::Negate, &[log])
    }

    /// The labels with blanks around them: `[b, u] -> [b, 2 u + 1]`, as floats.
    fn places(&mut self, t: ValueId) -> Result<ValueId, ShapeError> {
        let (samples, labels) = (self.graph.tensor(t).shape[0], self.classes(t));
        let t = self.op(Cast { to: ElementType::F32 }, &[t])?;
        let column = self.op(Reshape { shape: [samples, labels, 1].into() }, &[t])?;
        let blanks = self.op(Fill { shape: [samples, labels, 1].into(), value: 0.0 }, &[])?;
        let pairs = self.op(Concat { axis: 2 }, &[blanks, column])?;
        let row = self.op(Reshape { shape: [samples, 2 * labels].into() }, &[pairs])?;
        let last = self.op(Fill { shape: [samples, 1].into(), value: 0.0 }, &[])?;
        self.op(Concat { axis: 1 }, &[row, last])
    }

    /// For each step and place, the logarithm of the probability of what stands there: `[b, t, 2 u + 1]`.
    fn emitted(&mut self, p: ValueId, places: ValueId) -> Result<ValueId, ShapeError> {
        let (samples, steps) = (self.graph.tensor(p).shape[0], self.graph.tensor(p).shape[1]);
        let extent = self.classes(places);
        let logs = self.op(LogSoftmax {}, &[p])?;
        let once = self.op(Reshape { shape: [samples, 1, extent].into() }, &[places])?;
        let all = self.op(Broadcast { shape: [samples, steps, extent].into() }, &[once])?;
        let positions = self.op(Cast { to: ElementType::I32 }, &[all])?;
        self.op(TakeAlong {}, &[logs, positions])
    }

    fn emitted_at(&mut self, emitted: ValueId, step: usize) -> Result<ValueId, ShapeError> {
        let (samples, extent) = (self.graph.tensor(emitted).shape[0], self.classes(emitted));
        let one = Slice { start: vec![0, step, 0], size: vec![samples, 1, extent] };
        let one = self.op(one, &[emitted])?;
        self.op(Reshape { shape: [samples, extent].into() }, &[one])
    }

    /// 0 where a blank before may be left out, else never.
    fn leaps(&mut self, places: ValueId) -> Result<ValueId, ShapeError> {
        let (samples, extent) = (self.graph.tensor(places).shape[0], self.classes(places));
        let zeros = self.op(Fill { shape: [samples, 2].into(), value: 0.0 }, &[])?;
        let rest = self.op(slice(samples, 0, extent - 2), &[places])?;
        let before = self.op(Concat { axis: 1 }, &[zeros, rest])?;
        let zero = self.scalar(0.0)?;
        let is_label = self.op(Binary::NotEqual, &[places, zero])?;
        let is_other = self.op(Binary::NotEqual, &[places, before])?;
        let may = self.op(Binary::Multiply, &[is_label, is_other])?;
        let may_not = self.opposite(may)?;
        self.op(Unary::MultiplyScalar(NEVER), &[may_not])
    }

    /// What was so many places before.
    fn moved(&mut self, at: ValueId, by: usize) -> Result<ValueId, ShapeError> {
        let (samples, extent) = (self.graph.tensor(at).shape[0], self.classes(at));
        let rest = self.op(slice(samples, 0, extent - by), &[at])?;
        let never = self.never(samples, by)?;
        self.op(Concat { axis: 1 }, &[never, rest])
    }

    /// 1 where a sequence may end: at its last label, and at the blank after it.
    fn ends(&mut self, t: ValueId, extent: usize) -> Result<ValueId, ShapeError> {
        let samples = self.graph.tensor(t).shape[0];
        let is_label = self.op(NotEqual { value: 0 }, &[t])?;
        let length =
            self.op(Reduce { reduction: Reduction::Sum, axes: vec![1], keep_axes: true }, &[is_label])?;
        let last = self.op(Unary::MultiplyScalar(2.0), &[length])?;
        let ones = self.op(Fill { shape: [samples, extent].into(), value: 1.0 }, &[])?;
        let numbers = self.op(Cumulate { exclusive: true, ..Cumulate::default() }, &[ones])?;
        let past = self.op(Binary::Subtract, &[last, numbers])?;
        let one = self.scalar(1.0)?;
        let zero = self.scalar(0.0)?;
        let (at_label, at_blank) =
            (self.op(Binary::Equal, &[past, one])?, self.op(Binary::Equal, &[past, zero])?);
        self.op(Binary::Add, &[at_label, at_blank])
    }

    fn never(&mut self, samples: usize, extent: usize) -> Result<ValueId, ShapeError> {
        self.op(Fill { shape: [samples, extent].into(), value: NEVER }, &[])
    }

    /// `log(exp(a) + exp(b) + exp(c))`
    fn log_sum(&mut self, all: [ValueId; 3]) -> Result<ValueId, ShapeError> {
        let largest = self.op(Binary::Maximum, &all[..2])?;
        let largest = self.op(Binary::Maximum, &[largest, all[2]])?;
        let largest = self.op(Unary::Detach, &[largest])?;
        let mut sum = None;
        for one in all {
            let below = self.op(Binary::Subtract, &[one, largest])?;
            let power = self.op(Unary::Exp, &[below])?;
            sum = Some(match sum {
                Some(sum) => self.op(Binary::Add, &[sum, power])?,
                None => power,
            });
        }
        let log = self.op(Unary::Log, &[sum.expect("there are three")])?;
        self.op(Binary::Add, &[log, largest])
    }

    /// `log sum exp` of each row.
    pub(super) fn log_sum_of_row(&mut self, rows: ValueId) -> Result<ValueId, ShapeError> {
        let largest =
            self.op(Reduce { reduction: Reduction::Max, axes: vec![1], keep_axes: true }, &[rows])?;
        let largest = self.op(Unary::Detach, &[largest])?;
        let below = self.op(Binary::Subtract, &[rows, largest])?;
        let powers = self.op(Unary::Exp, &[below])?;
        let sum = self.row(Reduction::Sum, powers)?;
        let log = self.op(Unary::Log, &[sum])?;
        let shape: Shape = [self.graph.tensor(log).shape[0]].into();
        let largest = self.op(Reshape { shape }, &[largest])?;
        self.op(Binary::Add, &[log, largest])
    }
}

fn slice(samples: usize, start: usize, extent: usize) -> Slice {
    Slice { start: vec![0, start], size: vec![samples, extent] }
}
