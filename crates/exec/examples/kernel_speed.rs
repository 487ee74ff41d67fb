//! Measures kernels on layers of ResNet-50. With one thread this is the mean processor time, so that others on a shared
//! machine hardly matter; with two it is the best of several runs by the clock.
//!
//! `cargo run --release -p plimsoll-exec --example kernel_speed`

#![allow(unsafe_code)]

use plimsoll_exec::kernels::{Call, Input, Output, cpu};
use plimsoll_graph::op::{
    BatchNorm, BatchNormGradient, Conv2d, Conv2dFilterGradient, DepthwiseConv2d,
    DepthwiseConv2dFilterGradient, DepthwiseConv2dInputGradient, MaxPool2dGradient, Padding, Pool, Pool2d,
    Sliding, TransposedConv2d,
};
use plimsoll_graph::{OpKind, TensorType};
use std::time::Instant;

const BATCH: usize = 8;
const RUNS: usize = 15;

/// Side and channels of the image, side of the window, filters, stride.
const LAYERS: [(usize, usize, usize, usize, usize); 9] = [
    (224, 3, 7, 64, 2),
    (56, 64, 1, 64, 1),
    (56, 64, 3, 64, 1),
    (28, 128, 3, 128, 1),
    (14, 256, 3, 256, 1),
    (14, 256, 1, 1024, 1),
    (7, 512, 3, 512, 1),
    (7, 512, 1, 2048, 1),
    (56, 128, 3, 128, 2),
];

fn main() {
    println!(
        "{:30} {:>17} {:>17} {:>17}",
        "GFLOP/s, 1 and 2 threads", "forward", "image gradient", "filter gradient"
    );
    for (side, channels, window, filters, stride) in LAYERS {
        let sliding = Sliding { strides: [stride; 2], padding: Padding::Same, ..Default::default() };
        let conv = Conv2d { sliding, groups: 1 };
        let x = TensorType::f32([BATCH, side, side, channels]);
        let filter = TensorType::f32([window, window, channels, filters]);
        let out = side.div_ceil(stride);
        let y = TensorType::f32([BATCH, out, out, filters]);
        let flops = 2.0 * (y.shape.elements() * window * window * channels) as f64;
        let transposed = TransposedConv2d { conv, size: [side; 2] };
        let of_filter = Conv2dFilterGradient { conv, window: [window; 2] };
        let ops: [(OpKind, [&TensorType; 2]); 3] =
            [(conv.into(), [&x, &filter]), (transposed.into(), [&y, &filter]), (of_filter.into(), [&x, &y])];
        print!("{:30}", format!("{side}x{side}x{channels} {window}x{window}/{stride} -> {filters}"));
        for (op, inputs) in &ops {
            let inputs: Vec<TensorType> = inputs.iter().map(|&tensor| tensor.clone()).collect();
            let rates = [1, 2].map(|threads| flops / seconds(op, &inputs, threads) / 1e9);
            print!("  {:7.1} {:7.1}", rates[0], rates[1]);
        }
        println!();
    }
    memory_bound();
}

/// GB/s of what must at least be read and written.
fn memory_bound() {
    let x = TensorType::f32([BATCH, 112, 112, 64]);
    let c = TensorType::f32([64]);
    let half = TensorType::f32([BATCH, 56, 56, 64]);
    let sliding = Sliding { strides: [2, 2], padding: Padding::Same, ..Default::default() };
    let one = Sliding { padding: Padding::Same, ..Default::default() };
    let filter = TensorType::f32([3, 3, 64, 1]);
    let ops: [(&str, OpKind, Vec<TensorType>); 7] = [
        ("batch_norm", BatchNorm { epsilon: 1e-3 }.into(), vec![x.clone(), c.clone(), c.clone()]),
        (
            "batch_norm gradient",
            BatchNormGradient { epsilon: 1e-3 }.into(),
            vec![x.clone(), c.clone(), c.clone(), c.clone(), x.clone()],
        ),
        ("max pool", Pool2d { pool: Pool::Max, window: [3, 3], sliding }.into(), vec![x.clone()]),
        (
            "max pool gradient",
            MaxPool2dGradient { window: [3, 3], sliding }.into(),
            vec![x.clone(), half.clone(), half.clone()],
        ),
        ("depthwise", DepthwiseConv2d { sliding: one }.into(), vec![x.clone(), filter.clone()]),
        (
            "depthwise input",
            DepthwiseConv2dInputGradient { sliding: one, size: [112, 112] }.into(),
            vec![x.clone(), filter.clone()],
        ),
        (
            "depthwise filter",
            DepthwiseConv2dFilterGradient { sliding: one, window: [3, 3] }.into(),
            vec![x.clone(), x.clone()],
        ),
    ];
    for (name, op, inputs) in ops {
        let outputs = op.infer(&inputs).unwrap();
        let bytes: usize = inputs.iter().chain(&outputs).map(|tensor| tensor.shape.elements() * 4).sum();
        let times = [1, 2].map(|threads| seconds(&op, &inputs, threads));
        let rates = times.map(|time| bytes as f64 / time / 1e9);
        println!(
            "{name:30} {:7.1} {:7.1} ms  {:5.1} {:5.1} GB/s",
            times[0] * 1e3,
            times[1] * 1e3,
            rates[0],
            rates[1]
        );
    }
}

/// The seconds of one run.
fn seconds(kind: &OpKind, inputs: &[TensorType], threads: usize) -> f64 {
    let outputs = kind.infer(inputs).unwrap();
    let buffer = |tensor: &TensorType| -> Vec<f32> {
        (0..tensor.shape.elements()).map(|i| (i % 17) as f32 / 17.0).collect()
    };
    let given: Vec<Vec<f32>> = inputs.iter().map(buffer).collect();
    let mut results: Vec<Vec<f32>> = outputs.iter().map(buffer).collect();
    let mut scratch = vec![0.0; cpu::scratch(kind, inputs, &outputs, threads)];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    // SAFETY: the vectors outlive the views, hold the whole tensor, and are not touched while the kernel runs.
    let views: Vec<Input> = inputs
        .iter()
        .zip(&given)
        .map(|(tensor, data)| unsafe { Input::new(tensor.clone(), data.as_ptr().cast(), None) })
        .collect();
    // SAFETY: as above; every output has a vector of its own.
    let mut views_out: Vec<Output> = outputs
        .iter()
        .zip(&mut results)
        .map(|(tensor, data)| unsafe { Output::new(tensor.clone(), data.as_mut_ptr().cast()) })
        .collect();
    struct Crossing<T>(T);
    // SAFETY: the calling thread waits, so only one thread at a time uses the call.
    unsafe impl<T> Send for Crossing<T> {}
    let mut times = [0.0; RUNS];
    let mut busy = 0.0;
    for time in &mut times {
        let call = Crossing(Call { inputs: &views, outputs: &mut views_out, scratch: &mut scratch });
        (*time, busy) = pool.install(move || {
            let call = call;
            let start = Instant::now();
            cpu::run(kind, call.0).unwrap();
            (start.elapsed().as_secs_f64(), busy_seconds())
        });
    }
    match threads {
        1 => busy / RUNS as f64,
        _ => times.into_iter().fold(f64::INFINITY, f64::min),
    }
}

/// How long the calling thread has run on a processor: what others on a shared machine take is not counted.
fn busy_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}
