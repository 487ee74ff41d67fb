//! Compares our matrix product with the `gemm` crate's, on one thread: shapes of ResNet-50 at a batch of eight, of
//! recurrent layers, of attention. The two take turns, and the best of several runs counts, in processor time, so that
//! others on the machine matter less.
//!
//! `cargo run --release -p plimsoll-exec --example gemm_speed`; a word after `--` picks the shapes whose line has it

#![allow(unsafe_code)]

#[allow(dead_code, missing_docs)]
#[path = "../src/kernels/cpu"]
mod cpu {
    mod gemm;

    use gemm::{Accumulate, Matrix, MatrixMut};

    /// A dense product of row-major factors; a transposed one is stored with its rows as columns.
    pub fn product(a: (&[f32], bool), b: (&[f32], bool), c: &mut [f32], [m, k, n]: [usize; 3]) {
        let view = |(data, transposed), rows, columns| match transposed {
            true => Matrix::new(data, columns, rows).transposed(),
            false => Matrix::new(data, rows, columns),
        };
        gemm::gemm(view(a, m, k), view(b, k, n), MatrixMut::new(c, m, n), Accumulate::No);
    }
}

/// Every measurement takes at least this many multiplications.
const WORK: usize = 60_000_000;
const ROUNDS: usize = 25;

/// Which factors are stored with their rows as columns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Plain,
    /// As in a filter gradient.
    LeftTransposed,
    /// As in an input gradient.
    RightTransposed,
}
use Layout::{LeftTransposed, Plain, RightTransposed};

/// What the shape is from, rows, depth, columns.
const SHAPES: [(&str, Layout, [usize; 3]); 54] = [
    ("conv 7x7/2", Plain, [3136, 147, 64]),
    ("conv 1x1", Plain, [3136, 64, 64]),
    ("conv 1x1", Plain, [3136, 64, 256]),
    ("conv 1x1", Plain, [3136, 256, 64]),
    ("conv 3x3", Plain, [3136, 576, 64]),
    ("conv 1x1", Plain, [784, 256, 128]),
    ("conv 3x3", Plain, [784, 1152, 128]),
    ("conv 1x1", Plain, [784, 128, 512]),
    ("conv 1x1", Plain, [784, 512, 128]),
    ("conv 1x1", Plain, [1568, 256, 512]),
    ("conv 3x3", Plain, [1568, 2304, 256]),
    ("conv 1x1", Plain, [1568, 256, 1024]),
    ("conv 1x1", Plain, [1568, 1024, 256]),
    ("conv 3x3", Plain, [256, 2304, 256]),
    ("conv 3x3", Plain, [392, 4608, 512]),
    ("conv 1x1", Plain, [392, 512, 2048]),
    ("conv 1x1", Plain, [392, 2048, 512]),
    ("conv 1x1", Plain, [392, 1024, 2048]),
    ("filter gradient", LeftTransposed, [147, 3136, 64]),
    ("filter gradient", LeftTransposed, [64, 3136, 64]),
    ("filter gradient", LeftTransposed, [64, 3136, 256]),
    ("filter gradient", LeftTransposed, [576, 3136, 64]),
    ("filter gradient", LeftTransposed, [1152, 784, 128]),
    ("filter gradient", LeftTransposed, [128, 784, 512]),
    ("filter gradient", LeftTransposed, [2304, 1568, 256]),
    ("filter gradient", LeftTransposed, [256, 1568, 1024]),
    ("filter gradient", LeftTransposed, [1024, 1568, 256]),
    ("filter gradient", LeftTransposed, [512, 392, 2048]),
    ("filter gradient", LeftTransposed, [2048, 392, 512]),
    ("input gradient", RightTransposed, [3136, 64, 64]),
    ("input gradient", RightTransposed, [3136, 256, 64]),
    ("input gradient", RightTransposed, [3136, 64, 576]),
    ("input gradient", RightTransposed, [784, 128, 1152]),
    ("input gradient", RightTransposed, [784, 512, 128]),
    ("input gradient", RightTransposed, [1568, 256, 2304]),
    ("input gradient", RightTransposed, [1568, 1024, 256]),
    ("input gradient", RightTransposed, [392, 2048, 512]),
    ("input gradient", RightTransposed, [392, 512, 2048]),
    ("recurrent", Plain, [16, 128, 512]),
    ("recurrent gradient", RightTransposed, [16, 512, 128]),
    ("recurrent gradient", LeftTransposed, [128, 16, 512]),
    ("recurrent", Plain, [1, 128, 512]),
    ("recurrent", Plain, [4, 512, 2048]),
    ("recurrent", Plain, [8, 512, 1024]),
    ("recurrent gradient", RightTransposed, [4, 2048, 512]),
    ("recurrent gradient", LeftTransposed, [512, 8, 1024]),
    ("attention scores", RightTransposed, [128, 32, 128]),
    ("attention values", Plain, [128, 128, 32]),
    ("attention gradient", LeftTransposed, [128, 128, 32]),
    ("classes", Plain, [32, 2048, 10]),
    ("one row", Plain, [1, 512, 1024]),
    ("one row", RightTransposed, [1, 512, 1024]),
    ("one column", Plain, [1024, 512, 1]),
    ("square", Plain, [1024, 1024, 1024]),
];

fn main() {
    println!(
        "{:20} {:16} {:>18} {:>8} {:>8} {:>6}",
        "from", "layout", "m x k x n", "ours", "crate's", "ratio"
    );
    let (mut logarithms, mut least) = (0.0, f64::INFINITY);
    let word = std::env::args().nth(1).unwrap_or_default();
    let picked: Vec<_> =
        SHAPES.into_iter().filter(|(name, layout, _)| format!("{name} {layout:?}").contains(&word)).collect();
    for &(name, layout, shape) in &picked {
        let [ours, theirs] = rates(layout, shape);
        let [m, k, n] = shape;
        let ratio = ours / theirs;
        println!(
            "{name:20} {:16} {:>18} {ours:8.1} {theirs:8.1} {ratio:6.2}",
            format!("{layout:?}"),
            format!("{m} x {k} x {n}")
        );
        logarithms += ratio.ln();
        least = least.min(ratio);
    }
    let mean = (logarithms / picked.len() as f64).exp();
    println!("geometric mean of the ratios {mean:.3}, least {least:.2}; rates in GFLOP/s");
}

/// The best rates of both, in GFLOP/s.
fn rates(layout: Layout, [m, k, n]: [usize; 3]) -> [f64; 2] {
    let numbers = |count: usize| (0..count).map(|i| (i % 251) as f32 / 251.0 - 0.5).collect::<Vec<f32>>();
    let (a, b) = (numbers(m * k), numbers(k * n));
    let mut results = [vec![0.0; m * n], vec![0.0; m * n]];
    let times = WORK.div_ceil(m * k * n);
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (who, best) in best.iter_mut().enumerate() {
            let start = busy_seconds();
            for _ in 0..times {
                match who {
                    0 => cpu::product(
                        (&a, layout == LeftTransposed),
                        (&b, layout == RightTransposed),
                        &mut results[0],
                        [m, k, n],
                    ),
                    _ => product_of_the_crate(layout, &a, &b, &mut results[1], [m, k, n]),
                }
            }
            *best = best.min((busy_seconds() - start) / times as f64);
        }
    }
    let close = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-4 * k as f32;
    assert!(results[0].iter().zip(&results[1]).all(close), "the products differ");
    best.map(|seconds| 2.0 * (m * k * n) as f64 / seconds / 1e9)
}

/// How long the calling thread has run on a processor.
fn busy_seconds() -> f64 {
    // The system brings its account up to date when a thread yields.
    std::thread::yield_now();
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux keeps account of threads");
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    nanoseconds.expect("the first word is a number") / 1e9
}

fn product_of_the_crate(layout: Layout, a: &[f32], b: &[f32], c: &mut [f32], [m, k, n]: [usize; 3]) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
    let (a_row, a_column) = if layout == LeftTransposed { (1, m) } else { (k, 1) };
    let (b_row, b_column) = if layout == RightTransposed { (1, k) } else { (n, 1) };
    // SAFETY: the lengths were compared with the shapes above, and the result is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.as_ptr(),
            a_column as isize,
            a_row as isize,
            b.as_ptr(),
            b_column as isize,
            b_row as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
