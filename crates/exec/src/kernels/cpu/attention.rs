//! The CPU kernels of attention. The matrix of scores never exists: each thread makes a block of it, uses it and
//! forgets it.
//!
//! Work is cut into blocks of positions of one sequence, all heads of it together, since that is what lies in one
//! piece in memory. The gradient runs twice over the scores: by blocks of queries for `dq`, then by blocks
//! of keys for `dk` and `dv`. That costs two more products than one run would, but every block of a result is
//! written by one task, so there is nothing to add up between threads and a batch of one uses all of them.

use super::exponential::exp;
use super::gemm::{Accumulate, Matrix, MatrixMut, gemm};
use super::{Call, CpuKernel, KernelError, Types};
use crate::kernels::Input;
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Attention, AttentionGradient};
use std::ops::Range;

/// How many positions one task takes at a time.
const BLOCK: usize = 64;

impl CpuKernel for Attention {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([q, k, v, mask @ ..], [y, log_sum]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let sizes = Sizes::new(q.shape(), v.shape());
        let log_sum = log_sum.f32();
        let pass = Pass { op: self, sizes, q: q.f32(), mask: mask.first().map(Input::f32) };
        let (k, v) = (k.f32(), v.f32());
        let blocks = Blocks { length: sizes.t, widths: [sizes.h * sizes.e, sizes.h] };
        let per_thread = sizes.scores();
        blocks.walk([y.f32(), log_sum], call.scratch, per_thread, &|queries, [y, log_sum], scores| {
            pass.attend(queries, k, v, y, log_sum, scores);
        });
        // Tasks have written the logarithms as [n, t, h], one piece a task; the result is [n, h, t].
        for image in log_sum.chunks_exact_mut((sizes.t * sizes.h).max(1)) {
            let copy = &mut call.scratch[..image.len()];
            copy.copy_from_slice(image);
            for (index, value) in image.iter_mut().enumerate() {
                *value = copy[index % sizes.t * sizes.h + index / sizes.t];
            }
        }
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let sizes = Sizes::new(&types.inputs[0].shape, &types.inputs[2].shape);
        (types.lanes * sizes.scores()).max(sizes.t * sizes.h)
    }
}

impl CpuKernel for AttentionGradient {
    /// `dk` and `dv` are written last, and each block of them needs only its own keys and values.
    const IN_PLACE: &[(usize, usize)] = &[(1, 1), (2, 2)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([q, k, v, y, log_sum, dy, mask @ ..], [dq, dk, dv]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let sizes = Sizes::new(q.shape(), v.shape());
        let pass = Pass { op: &self.0, sizes, q: q.f32(), mask: mask.first().map(Input::f32) };
        let saved = Saved { y: y.f32(), log_sum: log_sum.f32(), dy: dy.f32() };
        let (dk, dv) = (dk.f32(), dv.f32());
        // From here on keys and values are read from where their gradients will stand.
        for (input, output) in [(k, &mut *dk), (v, &mut *dv)] {
            if input.replaced_by().is_none() {
                output.copy_from_slice(input.f32());
            }
        }
        let (delta, scratch) = call.scratch.split_at_mut(sizes.n * sizes.t * sizes.h);
        let per_thread = 2 * sizes.scores();
        let queries = Blocks { length: sizes.t, widths: [sizes.h * sizes.d, sizes.h] };
        let (k, v) = (&*dk, &*dv);
        queries.walk([dq.f32(), &mut *delta], scratch, per_thread, &|queries, [dq, delta], scratch| {
            pass.query_gradient(&saved, queries, [k, v], [dq, delta], scratch);
        });
        let (keys, delta) =
            (Blocks { length: sizes.s, widths: [sizes.h * sizes.d, sizes.h * sizes.e] }, &*delta);
        keys.walk([dk, dv], scratch, per_thread, &|keys, [dk, dv], scratch| {
            pass.key_gradient(&saved, delta, keys, [dk, dv], scratch);
        });
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let sizes = Sizes::new(&types.inputs[0].shape, &types.inputs[2].shape);
        sizes.n * sizes.t * sizes.h + types.lanes * 2 * sizes.scores()
    }
}

/// The extents, named as at the op.
#[derive(Clone, Copy)]
struct Sizes {
    n: usize,
    t: usize,
    h: usize,
    d: usize,
    s: usize,
    e: usize,
}

/// What both directions read.
struct Pass<'a> {
    op: &'a Attention,
    sizes: Sizes,
    q: &'a [f32],
    mask: Option<&'a [f32]>,
}

/// What the gradient reads besides.
struct Saved<'a> {
    y: &'a [f32],
    log_sum: &'a [f32],
    dy: &'a [f32],
}

/// A part of one sequence.
#[derive(Clone)]
struct Part {
    image: usize,
    positions: Range<usize>,
}

/// One head's tile of the matrix of scores.
struct Tile {
    image: usize,
    head: usize,
    queries: Range<usize>,
    keys: Range<usize>,
}

/// Two results `[n, length, width]` that are cut into blocks of positions.
struct Blocks {
    length: usize,
    widths: [usize; 2],
}

impl Sizes {
    fn new(q: &Shape, v: &Shape) -> Self {
        Self { n: q[0], t: q[1], h: q[2], d: q[3], s: v[1], e: v[3] }
    }

    /// How many scores one task holds.
    fn scores(self) -> usize {
        BLOCK * self.s.max(self.t)
    }

    /// One head of neighbouring positions of `[n, positions, h, width]`.
    fn head(self, data: &[f32], first: usize, positions: usize, head: usize, width: usize) -> Matrix<'_> {
        let row = self.h * width;
        Matrix::strided(&data[(first * row + head * width).min(data.len())..], positions, width, row)
    }

    /// The same of a block that is written.
    fn head_mut(self, block: &mut [f32], positions: usize, head: usize, width: usize) -> MatrixMut<'_> {
        MatrixMut::strided(&mut block[head * width..], positions, width, self.h * width)
    }
}

impl Pass<'_> {
    /// Makes a block of `y`, and of the logarithms as `[t, h]`.
    fn attend(
        &self,
        part: Part,
        k: &[f32],
        v: &[f32],
        y: &mut [f32],
        log_sum: &mut [f32],
        scores: &mut [f32],
    ) {
        let sizes = self.sizes;
        let keys = 0..self.last_key(&part.positions);
        for head in 0..sizes.h {
            let tile = Tile { image: part.image, head, queries: part.positions.clone(), keys: keys.clone() };
            let (rows, columns) = (tile.queries.len(), keys.len());
            let first_key = part.image * sizes.s;
            let scores = &mut scores[..rows * columns];
            self.score(&tile, sizes.head(k, first_key, columns, head, sizes.d), scores);
            for (row, scores) in scores.chunks_exact_mut(columns.max(1)).enumerate() {
                self.hide(&tile, row, scores, f32::NEG_INFINITY);
                log_sum[row * sizes.h + head] = softmax(scores);
            }
            let values = sizes.head(v, first_key, columns, head, sizes.e);
            let y = sizes.head_mut(y, rows, head, sizes.e);
            gemm(Matrix::new(scores, rows, columns), values, y, Accumulate::No);
        }
    }

    /// Makes a block of `dq`, and of `sum(dy y)` as `[t, h]`, which the keys' gradients need too.
    fn query_gradient(
        &self,
        saved: &Saved<'_>,
        part: Part,
        [k, v]: [&[f32]; 2],
        [dq, delta]: [&mut [f32]; 2],
        scratch: &mut [f32],
    ) {
        let sizes = self.sizes;
        let first = (part.image * sizes.t + part.positions.start) * sizes.h * sizes.e;
        for (row, delta) in delta.iter_mut().enumerate() {
            let row = first + row * sizes.e..first + (row + 1) * sizes.e;
            *delta = saved.y[row.clone()].iter().zip(&saved.dy[row]).map(|(y, dy)| y * dy).sum();
        }
        let keys = 0..self.last_key(&part.positions);
        for head in 0..sizes.h {
            let tile = Tile { image: part.image, head, queries: part.positions.clone(), keys: keys.clone() };
            let first_key = part.image * sizes.s;
            let k = sizes.head(k, first_key, keys.len(), head, sizes.d);
            let v = sizes.head(v, first_key, keys.len(), head, sizes.e);
            let (_, dscores) = self.score_gradient(saved, &tile, [k, v], delta, scratch);
            let dscores = Matrix::new(dscores, tile.queries.len(), keys.len());
            let dq = sizes.head_mut(dq, tile.queries.len(), head, sizes.d);
            gemm(dscores, k, dq, Accumulate::No);
        }
    }

    /// Makes a block of `dk` and `dv`, which hold the keys and values until then.
    fn key_gradient(
        &self,
        saved: &Saved<'_>,
        delta: &[f32],
        part: Part,
        [dk, dv]: [&mut [f32]; 2],
        scratch: &mut [f32],
    ) {
        let sizes = self.sizes;
        let queries = if self.op.causal { part.positions.start } else { 0 }..sizes.t;
        let first_query = part.image * sizes.t + queries.start;
        for head in 0..sizes.h {
            let tile =
                Tile { image: part.image, head, queries: queries.clone(), keys: part.positions.clone() };
            let (rows, columns) = (tile.queries.len(), tile.keys.len());
            let k = sizes.head(dk, 0, columns, head, sizes.d);
            let v = sizes.head(dv, 0, columns, head, sizes.e);
            let delta = &delta[first_query * sizes.h..];
            let (scores, dscores) = self.score_gradient(saved, &tile, [k, v], delta, scratch);
            let dy = sizes.head(saved.dy, first_query, rows, head, sizes.e);
            let dv = sizes.head_mut(dv, columns, head, sizes.e);
            gemm(Matrix::new(scores, rows, columns).transposed(), dy, dv, Accumulate::No);
            let q = sizes.head(self.q, first_query, rows, head, sizes.d);
            let dk = sizes.head_mut(dk, columns, head, sizes.d);
            gemm(Matrix::new(dscores, rows, columns).transposed(), q, dk, Accumulate::No);
        }
    }

    /// The probabilities of a tile, and `scale` times the gradient of its scores. `delta` begins at the tile's first
    /// query.
    fn score_gradient<'s>(
        &self,
        saved: &Saved<'_>,
        tile: &Tile,
        [k, v]: [Matrix<'_>; 2],
        delta: &[f32],
        scratch: &'s mut [f32],
    ) -> (&'s [f32], &'s [f32]) {
        let sizes = self.sizes;
        let (rows, columns) = (tile.queries.len(), tile.keys.len());
        let (scores, dscores) = scratch[..2 * rows * columns].split_at_mut(rows * columns);
        self.score(tile, k, scores);
        let first_query = tile.image * sizes.t + tile.queries.start;
        let dy = sizes.head(saved.dy, first_query, rows, tile.head, sizes.e);
        gemm(dy, v.transposed(), MatrixMut::new(dscores, rows, columns), Accumulate::No);
        let log_sums = &saved.log_sum[(tile.image * sizes.h + tile.head) * sizes.t..][tile.queries.clone()];
        let step = columns.max(1);
        let both = scores.chunks_exact_mut(step).zip(dscores.chunks_exact_mut(step));
        for (row, (scores, dscores)) in both.enumerate() {
            scores.iter_mut().for_each(|score| *score = exp(*score - log_sums[row]));
            self.hide(tile, row, scores, 0.0);
            let delta = delta[row * sizes.h + tile.head];
            for (p, dp) in scores.iter().zip(dscores) {
                *dp = self.op.scale * p * (*dp - delta);
            }
        }
        (scores, dscores)
    }

    /// `scale q k^T` for a tile.
    fn score(&self, tile: &Tile, k: Matrix<'_>, scores: &mut [f32]) {
        let (sizes, rows) = (self.sizes, tile.queries.len());
        let first_query = tile.image * sizes.t + tile.queries.start;
        let q = sizes.head(self.q, first_query, rows, tile.head, sizes.d);
        gemm(q, k.transposed(), MatrixMut::new(scores, rows, tile.keys.len()), Accumulate::No);
        scores.iter_mut().for_each(|score| *score *= self.op.scale);
    }

    /// Overwrites one row of a tile where the query must not look.
    fn hide(&self, tile: &Tile, row: usize, scores: &mut [f32], hidden: f32) {
        if let Some(mask) = self.mask {
            let mask = &mask[tile.image * self.sizes.s..][tile.keys.clone()];
            let masked = scores.iter_mut().zip(mask).filter(|(_, mask)| **mask == 0.0);
            masked.for_each(|(score, _)| *score = hidden);
        }
        if self.op.causal {
            let seen = (tile.queries.start + row + 1).saturating_sub(tile.keys.start);
            scores.iter_mut().skip(seen).for_each(|score| *score = hidden);
        }
    }

    /// The first key that none of these queries sees.
    fn last_key(&self, queries: &Range<usize>) -> usize {
        if self.op.causal { queries.end } else { self.sizes.s }
    }
}

impl Blocks {
    /// Runs `work` for every block. The scratch holds a piece for each thread; threads take equal runs of
    /// neighbouring blocks. What a block gets does not depend on who takes it.
    fn walk<W>(&self, results: [&mut [f32]; 2], scratch: &mut [f32], per_thread: usize, work: &W)
    where
        W: Fn(Part, [&mut [f32]; 2], &mut [f32]) + Sync,
    {
        let sequences = results[0].len() / (self.length * self.widths[0]).max(1);
        self.walk_part(0..sequences * self.in_sequence(), results, scratch, per_thread.max(1), work);
    }

    fn walk_part<W>(
        &self,
        blocks: Range<usize>,
        results: [&mut [f32]; 2],
        scratch: &mut [f32],
        per_thread: usize,
        work: &W,
    ) where
        W: Fn(Part, [&mut [f32]; 2], &mut [f32]) + Sync,
    {
        let threads = scratch.len() / per_thread;
        if blocks.len() <= 1 || threads <= 1 {
            return self.walk_alone(blocks, results, scratch, work);
        }
        let middle = blocks.start + blocks.len() * (threads / 2) / threads;
        let [first, second] = results;
        let rows = self.row(middle) - self.row(blocks.start);
        let (first_left, first_right) = first.split_at_mut(rows * self.widths[0]);
        let (second_left, second_right) = second.split_at_mut(rows * self.widths[1]);
        let (scratch_left, scratch_right) = scratch.split_at_mut(threads / 2 * per_thread);
        let (left, right) = (blocks.start..middle, middle..blocks.end);
        rayon::join(
            || self.walk_part(left, [first_left, second_left], scratch_left, per_thread, work),
            || self.walk_part(right, [first_right, second_right], scratch_right, per_thread, work),
        );
    }

    fn walk_alone<W>(&self, blocks: Range<usize>, results: [&mut [f32]; 2], scratch: &mut [f32], work: &W)
    where
        W: Fn(Part, [&mut [f32]; 2], &mut [f32]),
    {
        let [mut first, mut second] = results;
        for block in blocks {
            let start = block % self.in_sequence() * BLOCK;
            let positions = start..self.length.min(start + BLOCK);
            let (own_first, rest) = first.split_at_mut(positions.len() * self.widths[0]);
            first = rest;
            let (own_second, rest) = second.split_at_mut(positions.len() * self.widths[1]);
            second = rest;
            let part = Part { image: block / self.in_sequence(), positions };
            work(part, [own_first, own_second], scratch);
        }
    }

    fn in_sequence(&self) -> usize {
        self.length.div_ceil(BLOCK)
    }

    /// The row of `[n * length, width]` at which a block starts.
    fn row(&self, block: usize) -> usize {
        block / self.in_sequence() * self.length + block % self.in_sequence() * BLOCK
    }
}

/// Turns scores into probabilities and gives the logarithm of the denominator. A row in which every
/// score is minus infinity sees no key: it gets zeros.
fn softmax(scores: &mut [f32]) -> f32 {
    let largest = fold(scores, f32::NEG_INFINITY, |max, score| if score > max { score } else { max });
    if largest == f32::NEG_INFINITY && scores.iter().all(|&score| score == largest) {
        scores.fill(0.0);
        return 0.0;
    }
    scores.iter_mut().for_each(|score| *score = exp(*score - largest));
    let sum = fold(scores, 0.0, |sum, score| sum + score);
    scores.iter_mut().for_each(|score| *score /= sum);
    largest + sum.ln()
}

/// Combines all numbers, eight runs of them side by side, so that SIMD can be used and none waits for the one before.
fn fold(numbers: &[f32], start: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; 8];
    let (chunks, rest) = numbers.as_chunks::<8>();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &number)| *lane = combine(*lane, number));
    }
    lanes.iter().chain(rest).fold(start, |all, &number| combine(all, number))
}
