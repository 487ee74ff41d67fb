//! Attention, from its definition: every probability is made from the scores, in both directions.

use super::tensor::{flat, indices};
use super::{Meaning, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Attention, AttentionGradient};

impl Meaning for Attention {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let (q, k, v, mask) = (inputs[0], inputs[1], inputs[2], inputs.get(3).copied());
        let ([n, t, h, _], [_, s, _, e]) = (q.extents(), v.extents());
        let y = indices(&Shape::from([n, t, h, e])).map(|index| {
            let [image, query, head, column] = index[..] else { unreachable!("four axes") };
            let probabilities = probabilities(self, q, k, mask, [image, query, head]);
            // What is masked has no part, not even in a NaN.
            let seen = (0..s).filter(|key| probabilities[*key] != 0.0);
            seen.map(|key| probabilities[key] * v.at([image, key, head, column])).sum()
        });
        let log_sum = indices(&Shape::from([n, h, t])).map(|index| {
            let [image, head, query] = index[..] else { unreachable!("three axes") };
            let sum: f64 = exponentials(self, q, k, mask, [image, query, head]).iter().sum();
            // A query without any key gets zeros.
            if sum == 0.0 { 0.0 } else { sum.ln() }
        });
        vec![y.collect(), log_sum.collect()]
    }
}

impl Meaning for AttentionGradient {
    /// With `p = softmax(scale q k^T)` and `dp = dy v^T`: `dv = p^T dy`, `dscore = p (dp - sum(p dp))`,
    /// `dq = scale dscore k`, `dk = scale dscore^T q`.
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let (q, k, v, dy, mask) = (inputs[0], inputs[1], inputs[2], inputs[5], inputs.get(6).copied());
        let ([n, t, h, d], [_, s, _, e]) = (q.extents(), v.extents());
        let [mut dq, mut dk, mut dv] = [q, k, v].map(|tensor| vec![0.0; tensor.data.len()]);
        for row in indices(&Shape::from([n, t, h])) {
            let [image, query, head] = row[..] else { unreachable!("three axes") };
            let p = probabilities(&self.0, q, k, mask, [image, query, head]);
            let dy = |column| dy.at([image, query, head, column]);
            let dp = |key| (0..e).map(|column| dy(column) * v.at([image, key, head, column])).sum::<f64>();
            let mean: f64 = (0..s).filter(|key| p[*key] != 0.0).map(|key| p[key] * dp(key)).sum();
            for (key, p) in p.into_iter().enumerate().filter(|(_, p)| *p != 0.0) {
                let dscore = f64::from(self.0.scale) * p * (dp(key) - mean);
                let at = flat(v.shape(), &[image, key, head, 0]);
                (0..e).for_each(|column| dv[at + column] += p * dy(column));
                let at = flat(q.shape(), &[image, query, head, 0]);
                (0..d).for_each(|column| dq[at + column] += dscore * k.at([image, key, head, column]));
                let at = flat(k.shape(), &[image, key, head, 0]);
                (0..d).for_each(|column| dk[at + column] += dscore * q.at([image, query, head, column]));
            }
        }
        vec![dq, dk, dv]
    }
}

/// How much one query looks at each key: all zeros if it sees none.
fn probabilities(
    op: &Attention,
    q: &Tensor,
    k: &Tensor,
    mask: Option<&Tensor>,
    query: [usize; 3],
) -> Vec<f64> {
    let exponentials = exponentials(op, q, k, mask, query);
    let sum: f64 = exponentials.iter().sum();
    exponentials.iter().map(|e| if sum == 0.0 { 0.0 } else { e / sum }).collect()
}

/// `e^(scale q k)` for one query and each key; 0 for keys it does not see.
fn exponentials(
    op: &Attention,
    q: &Tensor,
    k: &Tensor,
    mask: Option<&Tensor>,
    [image, query, head]: [usize; 3],
) -> Vec<f64> {
    let [_, s, _, d] = k.extents();
    let seen = |key| {
        let masked = mask.is_some_and(|mask| mask.at([image, key]) == 0.0);
        !masked && (!op.causal || key <= query)
    };
    let score = |key| -> f64 {
        (0..d).map(|column| q.at([image, query, head, column]) * k.at([image, key, head, column])).sum()
    };
    (0..s).map(|key| if seen(key) { (f64::from(op.scale) * score(key)).exp() } else { 0.0 }).collect()
}
