//! What recording a run costs: steps with and without it, in the same process, in turn.
//!
//! `cargo run --release -p plimsoll --example recording_cost [THREADS] [MODEL:BATCH ...]`
//!
//! Two trainers of the same job make a step each, one of them recording to a file; which goes first changes from pair to pair. What others on the machine
//! do meets both alike, so the median of the pairs' ratios is told, and the ratio of the fastest steps.

use plimsoll::data::{Elements, Samples};
use plimsoll::memory::{Bfc, BfcOptions, Device};
use plimsoll::model::zoo;
use plimsoll::recording::{Way, about};
use plimsoll::trace::{Recorder, file, happened};
use plimsoll::{Bytes, EagerOptions, EagerTrainer, Job, JobError, OnShortage, Prepared, Run, Trainer};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

const MODELS: [&str; 5] = ["mlp@64:1", "mlp@784:32", "cnn@8,channels=1:1", "cnn@32:8", "resnet20@32:1"];
/// Each is measured for about so long, and at least so many pairs.
const SECONDS: f64 = 6.0;
const PAIRS: u64 = 30;
/// Steps before it counts.
const WARM: u64 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let threads = match arguments.peek().and_then(|text| text.parse().ok()) {
        Some(threads) => arguments.next().map_or(1, |_| threads),
        None => 1,
    };
    let named: Vec<String> = arguments.collect();
    let models = if named.is_empty() { MODELS.map(str::to_string).to_vec() } else { named };
    println!("| model, batch | run | step | median of pairs | fastest | events a step | bytes an event |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for model in &models {
        for is_eager in [false, true] {
            println!("{}", compare(model, threads, is_eager)?);
        }
    }
    Ok(())
}

/// A row of the table.
fn compare(model: &str, threads: usize, is_eager: bool) -> Result<String, Box<dyn Error>> {
    let (name, batch) = model.split_once(':').ok_or("a model is written as NAME:BATCH")?;
    let prepared = Job { threads, ..Job::new(zoo::find(name)?, batch.parse()?) }.prepare()?;
    let path = std::env::temp_dir().join(format!("recording_cost.{}.trace", std::process::id()));
    let mut plain = Subject::new(&prepared, is_eager, None)?;
    let mut recorded = Subject::new(&prepared, is_eager, Some(&path))?;
    let samples: Vec<usize> = (0..prepared.job.batch).collect();
    let (mut ratios, mut fastest) = (Vec::new(), [Duration::MAX; 2]);
    let start = Instant::now();
    let mut step = 0;
    while step < PAIRS + WARM || start.elapsed().as_secs_f64() < SECONDS {
        step += 1;
        let mut times = [Duration::ZERO; 2];
        for which in [step % 2, 1 - step % 2] {
            let subject = if which == 0 { &mut plain } else { &mut recorded };
            times[which as usize] = subject.step(step, &samples)?;
        }
        if step > WARM {
            ratios.push(times[1].as_secs_f64() / times[0].as_secs_f64());
            fastest = [fastest[0].min(times[0]), fastest[1].min(times[1])];
        }
    }
    recorded.finish()?;
    let (size, events) = (std::fs::metadata(&path)?.len(), happened(&file::read(File::open(&path)?)?.0));
    std::fs::remove_file(&path)?;
    ratios.sort_by(f64::total_cmp);
    let percent = |ratio: f64| format!("{:+.2} %", 100.0 * (ratio - 1.0));
    Ok(format!(
        "| {name}, {batch} | {} | {:.3} ms | {} | {} | {} | {:.2} |",
        if is_eager { "eager" } else { "planned" },
        1e3 * fastest[0].as_secs_f64(),
        percent(ratios[ratios.len() / 2]),
        percent(fastest[1].as_secs_f64() / fastest[0].as_secs_f64()),
        events / step,
        size as f64 / events as f64,
    ))
}

/// A trainer of either kind.
enum Subject {
    Planned(Box<Trainer>),
    Eager(Box<EagerTrainer>),
}

impl Subject {
    fn new(prepared: &Prepared, is_eager: bool, path: Option<&Path>) -> Result<Self, Box<dyn Error>> {
        let device = Device::host(Bytes::mib(1024));
        let run = Run { steps: 1_000_000, learning_rate: 1e-4, seed: 0, poison: false };
        let way = if is_eager { Way::Eager("bfc") } else { Way::Planned };
        let about = about(std::slice::from_ref(prepared), "recording cost", &device, way);
        let recorder = path.map(|path| Recorder::new(Box::new(File::create(path)?), &about)).transpose()?;
        if is_eager {
            let allocator = Box::new(|| Box::new(Bfc::new(BfcOptions::default())) as _);
            let options = EagerOptions { allocator, on_shortage: OnShortage::Stop };
            let mut trainer = EagerTrainer::new(vec![prepared.clone()], &device, run, options)?;
            recorder.into_iter().for_each(|recorder| trainer.record_to(recorder));
            return Ok(Self::Eager(Box::new(trainer)));
        }
        let mut trainer = Trainer::new(prepared.clone(), &device, run)?;
        recorder.into_iter().for_each(|recorder| trainer.record_to(recorder));
        Ok(Self::Planned(Box::new(trainer)))
    }

    fn step(&mut self, step: u64, samples: &[usize]) -> Result<Duration, JobError> {
        let start = Instant::now();
        match self {
            Self::Planned(trainer) => trainer.step(step, &Ramp, samples)?,
            Self::Eager(trainer) => trainer.step(step, &Ramp, samples)?,
        };
        Ok(start.elapsed())
    }

    fn finish(&mut self) -> Result<(), std::io::Error> {
        let finished = match self {
            Self::Planned(trainer) => trainer.finish_recording(),
            Self::Eager(trainer) => trainer.finish_recording(),
        };
        finished.transpose().map(|_| ())
    }
}

/// Samples that cost next to nothing to make.
struct Ramp;

impl Samples for Ramp {
    fn count(&self) -> usize {
        256
    }

    fn write_input(&self, index: usize, into: Elements<'_>) {
        match into {
            Elements::F32(into) => {
                into.iter_mut().zip(index..).for_each(|(x, i)| *x = (i % 256) as f32 / 255.0)
            }
            Elements::I32(into) => into.iter_mut().zip(index..).for_each(|(x, i)| *x = (i * 37 % 10) as i32),
        }
    }

    fn write_target(&self, index: usize, into: Elements<'_>) {
        self.write_input(index, into);
    }
}
