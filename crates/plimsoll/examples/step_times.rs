//! Predicted against measured time of a training step, for the whole zoo.
//!
//! `cargo run --release -p plimsoll --example step_times [THREADS] [MODEL:BATCH ...]`
//!
//! The machine is calibrated first, and again every few models, so that prediction and measurement see it in the same
//! state. With one thread a step's time is processor time, so that others on a shared machine hardly matter; with
//! several it is the shortest of some steps by the clock.

use plimsoll::calibrate::{Thoroughness, calibrate};
use plimsoll::data::{Elements, Field, Samples, Wanted};
use plimsoll::memory::Device;
use plimsoll::model::zoo;
use plimsoll::plan::{Profile, graph_work};
use plimsoll::{Bytes, Job, Prepared, Run, Trainer};
use std::error::Error;
use std::time::Instant;

const MODELS: [&str; 14] = [
    "mlp@784:128",
    "cnn@32:64",
    "lenet@32:64",
    "resnet20@32:32",
    "resnet50@224:4",
    "vgg16@224:2",
    "mobilenet_v2@224:8",
    "mobilenet_v3_large@224:8",
    "efficientnet_b0@224:8",
    "densenet121@224:4",
    "unet@64:16",
    "lstm@64:32",
    "bilstm@64:32",
    "transformer@128:8",
];
/// Each model is measured for about so long, and at least so many steps.
const SECONDS: f64 = 2.0;
const STEPS: u64 = 4;
/// How many models share a calibration.
const SHARED: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match arguments.peek().and_then(|text| text.parse().ok()) {
        Some(threads) => arguments.next().map_or(all, |_| threads),
        None => all,
    };
    let named: Vec<String> = arguments.collect();
    let models = if named.is_empty() { MODELS.map(str::to_string).to_vec() } else { named };
    println!("| model, batch | GFLOP a step | predicted | measured | ratio |\n|---|--:|--:|--:|--:|");
    for models in models.chunks(SHARED) {
        let profile = calibrate(threads, Thoroughness::default(), |_, _| {})?;
        for model in models {
            println!("{}", compare(model, threads, &profile)?);
        }
    }
    Ok(())
}

/// A row of the table.
fn compare(model: &str, threads: usize, profile: &Profile) -> Result<String, Box<dyn Error>> {
    let (name, batch) = model.split_once(':').ok_or("a model is written as NAME:BATCH")?;
    let job = Job::new(zoo::find(name)?, batch.parse()?).on_threads(threads);
    let prepared = job.prepare()?;
    let (graph, order) = (&prepared.training.graph, prepared.plan().order.clone());
    let flops: u64 = order.iter().map(|&op| graph_work(graph, op).flops).sum();
    let predicted: f64 = order.iter().map(|&op| profile.op_seconds(graph, op)).sum();
    let measured = measure(prepared, threads)?;
    Ok(format!(
        "| {name}, {batch} | {:.2} | {:.2} ms | {:.2} ms | {:.2} |",
        flops as f64 / 1e9,
        predicted * 1e3,
        measured * 1e3,
        predicted / measured
    ))
}

/// The seconds of the fastest step.
fn measure(prepared: Prepared, threads: usize) -> Result<f64, Box<dyn Error>> {
    let device = Device::host(prepared.peak() + Bytes::mib(1));
    let samples: Vec<usize> = (0..prepared.job.batch).collect();
    let ramp = Ramp { fields: Wanted::of(&prepared.training).fields() };
    let run = Run { steps: 1000, learning_rate: 1e-4, seed: 0, poison: false };
    let mut trainer = Trainer::new(prepared, &device, run)?;
    let data = trainer.bind(&ramp)?;
    let clock = Clock { by_processor: threads == 1, start: Instant::now() };
    let mut fastest = f64::INFINITY;
    for step in 1..run.steps {
        let start = clock.seconds();
        trainer.step(step, &data, &samples)?;
        // The first step takes new pages from the system.
        if step > 1 {
            fastest = fastest.min(clock.seconds() - start);
        }
        if step > STEPS && clock.start.elapsed().as_secs_f64() > SECONDS {
            break;
        }
    }
    Ok(fastest)
}

struct Clock {
    by_processor: bool,
    start: Instant,
}

impl Clock {
    /// By the clock, or as long as all threads of the process have run on a processor, where the system tells.
    fn seconds(&self) -> f64 {
        let busy = if self.by_processor { busy_seconds() } else { None };
        busy.unwrap_or_else(|| self.start.elapsed().as_secs_f64())
    }
}

fn busy_seconds() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let mut nanoseconds = 0.0;
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(nanoseconds / 1e9)
}

/// Samples that cost next to nothing to make.
struct Ramp {
    fields: Vec<Field>,
}

impl Samples for Ramp {
    fn count(&self) -> usize {
        256
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn write(&self, _: usize, sample: usize, into: Elements<'_>) {
        match into {
            Elements::F32(into) => {
                into.iter_mut().zip(sample..).for_each(|(x, i)| *x = (i % 256) as f32 / 255.0)
            }
            Elements::I32(into) => into.iter_mut().zip(sample..).for_each(|(x, i)| *x = (i * 37 % 10) as i32),
        }
    }
}
