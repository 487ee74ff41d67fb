//! What recording a run costs: steps with and without it, in the same process, in turn.
//!
//! `cargo run --release -p plimsoll --example recording_cost [THREADS] [MODEL:BATCH ...]`
//!
//! One trainer makes blocks of steps in turn, with and without a recorder that writes to a file, so that both have the
//! same threads and the same memory. What others on the machine do meets both alike: the median of the ratios of
//! neighbouring blocks is told, and that of two blocks without a recorder, which shows how far to trust it. A block's
//! time is the time for which the threads of the process have really run, where the system tells: by the clock, others
//! on a busy machine decide.

use plimsoll::data::{Elements, Field, Samples, Wanted};
use plimsoll::memory::{Bfc, BfcOptions, Device};
use plimsoll::model::zoo;
use plimsoll::recording::{Way, about};
use plimsoll::trace::{Recorder, file, happened};
use plimsoll::{Bytes, EagerOptions, EagerTrainer, Job, JobError, OnShortage, Prepared, Run, Trainer};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::Instant;

const MODELS: [&str; 5] = ["mlp@64:1", "mlp@784:32", "cnn@8,channels=1:1", "cnn@32:8", "resnet20@32:1"];
/// Each is measured for about so long, and at least so many rounds.
const SECONDS: f64 = 10.0;
const ROUNDS: u64 = 30;
/// How long a block is, and its steps before it counts.
const BLOCK_SECONDS: f64 = 0.06;
const WARM: u64 = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let threads = match arguments.peek().and_then(|text| text.parse().ok()) {
        Some(threads) => arguments.next().map_or(1, |_| threads),
        None => 1,
    };
    let named: Vec<String> = arguments.collect();
    let models = if named.is_empty() { MODELS.map(str::to_string).to_vec() } else { named };
    println!("| model, batch | run | step | recorded | plain again | events a step | bytes an event |");
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
    let prepared = Job::new(zoo::find(name)?, batch.parse()?).on_threads(threads).prepare()?;
    let path = std::env::temp_dir().join(format!("recording_cost.{}.trace", std::process::id()));
    let mut subject = Subject::new(&prepared, is_eager)?;
    let (ramp, samples) = (
        Ramp { fields: Wanted::of(&prepared.training).fields() },
        (0..prepared.job.batch).collect::<Vec<_>>(),
    );
    let (mut recorded, mut again, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let length = (BLOCK_SECONDS / subject.block((&ramp, &samples), 4)?).ceil() as u64;
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < ROUNDS || start.elapsed().as_secs_f64() < SECONDS {
        rounds += 1;
        let first = subject.block((&ramp, &samples), length)?;
        subject.record(&prepared, &path)?;
        let with = subject.block((&ramp, &samples), length)?;
        subject.finish()?;
        let last = subject.block((&ramp, &samples), length)?;
        recorded.push(2.0 * with / (first + last));
        again.push(last / first);
        plain.push(first);
    }
    let (size, events) = (std::fs::metadata(&path)?.len(), happened(&file::read(File::open(&path)?)?.0));
    std::fs::remove_file(&path)?;
    let percent = |ratios: &mut Vec<f64>| format!("{:+.2} %", 100.0 * (median(ratios) - 1.0));
    Ok(format!(
        "| {name}, {batch} | {} | {:.3} ms | {} | {} | {} | {:.2} |",
        if is_eager { "eager" } else { "planned" },
        1e3 * median(&mut plain),
        percent(&mut recorded),
        percent(&mut again),
        events / (length + WARM),
        size as f64 / events as f64,
    ))
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// The seconds that all threads of the process have run, where the system tells.
fn busy_seconds() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let mut nanoseconds = 0.0;
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(nanoseconds / 1e9)
}

/// A trainer of either kind.
enum Subject {
    Planned(Box<Trainer>),
    Eager(Box<EagerTrainer>),
}

impl Subject {
    fn new(prepared: &Prepared, is_eager: bool) -> Result<Self, Box<dyn Error>> {
        let device = Device::host(Bytes::mib(1024));
        let run = Run { steps: 1_000_000, learning_rate: 1e-4, seed: 0, poison: false };
        if is_eager {
            let allocator = Box::new(|| Box::new(Bfc::new(BfcOptions::default())) as _);
            let options = EagerOptions { allocator, on_shortage: OnShortage::Stop };
            return Ok(Self::Eager(Box::new(EagerTrainer::new(
                vec![prepared.clone()],
                &device,
                run,
                options,
            )?)));
        }
        Ok(Self::Planned(Box::new(Trainer::new(prepared.clone(), &device, run)?)))
    }

    fn record(&mut self, prepared: &Prepared, path: &Path) -> Result<(), std::io::Error> {
        let way = if matches!(self, Self::Eager(_)) { Way::Eager("bfc") } else { Way::Planned };
        let about =
            about(std::slice::from_ref(prepared), "recording cost", &Device::host(Bytes::mib(1024)), way);
        let recorder = Recorder::new(Box::new(File::create(path)?), &about)?;
        match self {
            Self::Planned(trainer) => trainer.record_to(recorder),
            Self::Eager(trainer) => trainer.record_to(recorder),
        }
        Ok(())
    }

    /// Some steps; gives the seconds of each.
    fn block(&mut self, samples: (&Ramp, &[usize]), length: u64) -> Result<f64, JobError> {
        self.steps(samples, 1..=WARM)?;
        let start = (Instant::now(), busy_seconds());
        self.steps(samples, WARM + 1..=WARM + length)?;
        let busy = start.1.zip(busy_seconds()).map(|(from, to)| to - from);
        Ok(busy.unwrap_or_else(|| start.0.elapsed().as_secs_f64()) / length as f64)
    }

    fn steps(
        &mut self,
        (data, samples): (&Ramp, &[usize]),
        steps: std::ops::RangeInclusive<u64>,
    ) -> Result<(), JobError> {
        for step in steps {
            match self {
                Self::Planned(trainer) => trainer.step(step, &trainer.bind(data)?, samples)?,
                Self::Eager(trainer) => trainer.step(step, &trainer.bind(data)?, samples)?,
            };
        }
        Ok(())
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
