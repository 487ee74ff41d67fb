//! Recorded runs: the trace of a planned run is the predicted one, that of an eager run has its pool's figures, and
//! files are small.

use plimsoll::data::{self, Wanted};
use plimsoll::memory::{Bfc, BfcOptions, Device};
use plimsoll::model::zoo;
use plimsoll::plan::predict;
use plimsoll::recording::{Way, about};
use plimsoll::report::Exhibit;
use plimsoll::trace::{Event, Recorder, Time, Trace, What, file, happened, reserved, summarize, verify};
use plimsoll::{Bytes, EagerOptions, EagerTrainer, Job, OnShortage, Outcome, Prepared, Run, Trainer};
use std::fs::File;
use std::path::PathBuf;

const STEPS: u64 = 4;

/// A file that goes with the test.
struct Sheet(tempfile::TempDir);

impl Sheet {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("run.trace")
    }

    fn recorder(&self, prepared: &Prepared, device: &Device, way: Way<'_>) -> Recorder {
        let about = about(std::slice::from_ref(prepared), "a test", device, way);
        Recorder::new(Box::new(File::create(self.path()).unwrap()), &about).unwrap()
    }

    /// The trace, and the bytes of its file.
    fn read(&self) -> (Trace, u64) {
        let (trace, cut) = file::read(File::open(self.path()).unwrap()).unwrap();
        assert!(!cut);
        verify(&trace).unwrap();
        (trace, std::fs::metadata(self.path()).unwrap().len())
    }
}

fn prepare(spec: &str, batch: usize) -> Prepared {
    Job::new(zoo::find(spec).unwrap(), batch).on_threads(2).prepare().unwrap()
}

fn run(steps: u64) -> Run {
    Run { steps, learning_rate: 0.001, seed: 3, poison: false }
}

fn planned(prepared: &Prepared, sheet: Option<&Sheet>, steps: u64) -> Outcome {
    planned_on("synthetic", prepared, sheet, steps)
}

fn planned_on(data: &str, prepared: &Prepared, sheet: Option<&Sheet>, steps: u64) -> Outcome {
    let device = Device::host(prepared.peak() + Bytes::mib(1));
    let data = data::open(data, &Wanted::of(&prepared.training), 3).unwrap();
    let mut trainer = Trainer::new(prepared.clone(), &device, run(steps)).unwrap();
    if let Some(sheet) = sheet {
        trainer.record_to(sheet.recorder(prepared, &device, Way::Planned));
    }
    let outcome = trainer.train(&data, |_| {}).unwrap();
    assert_eq!(trainer.finish_recording().is_some(), sheet.is_some());
    outcome
}

/// Events that begin at time 0 and label 0.
fn from_zero(events: &[Event]) -> Vec<Event> {
    let start = events[0].time().0;
    let shifted = events.iter().map(|event| match *event {
        Event::Take { time, block, offset, bytes, label } => {
            Event::Take { time: Time(time.0 - start), block, offset, bytes, label }
        }
        Event::Free { time, block } => Event::Free { time: Time(time.0 - start), block },
    });
    shifted.collect()
}

#[test]
fn a_planned_run_records_what_its_plan_predicts() {
    for (spec, batch) in [("mlp@64", 8), ("cnn@8,channels=1", 4), ("resnet20@32", 2), ("lstm@6,vocab=20", 3)]
    {
        let prepared = prepare(spec, batch);
        let sheet = Sheet::new();
        let outcome = planned(&prepared, Some(&sheet), STEPS);
        let (trace, _) = sheet.read();
        let predicted = predict(prepared.step().graph(), prepared.plan());
        assert_eq!(from_zero(&trace.events[..predicted.events.len()]), predicted.events, "{spec}");
        assert!(trace.labels.starts_with(&predicted.labels));
        assert_eq!(summarize(&trace).peak, outcome.planned_peak);
        assert_eq!(
            (trace.about.planned_peak, trace.about.floor),
            (Some(prepared.peak()), Some(prepared.floor()))
        );
        let again = What::Again { from: 0, count: predicted.events.len() };
        let repeats = trace.marks.iter().filter(|mark| mark.what == again).count() as u64;
        assert_eq!(repeats, STEPS - 1, "{spec}: all steps but the first are the same");
        let steps: Vec<u64> = trace
            .marks
            .iter()
            .filter_map(|mark| if let What::Step { number } = mark.what { Some(number) } else { None })
            .collect();
        assert_eq!(steps, [1, 2, 3, 4]);
        let plain = planned(&prepared, None, STEPS);
        assert_eq!(plain.last.loss.to_bits(), outcome.last.loss.to_bits(), "recording changes no number");
    }
}

#[test]
fn a_recording_says_where_evaluation_begins_and_a_report_keeps_the_optimizer_beside_it() {
    let mut job = Job::new(zoo::find("cnn@8,channels=1").unwrap(), 8).on_threads(2);
    for micro_batches in [1, 2] {
        job.micro_batches = micro_batches;
        let prepared = job.prepare().unwrap();
        let sheet = Sheet::new();
        planned_on("digits", &prepared, Some(&sheet), STEPS);
        let (trace, _) = sheet.read();
        let evaluations = trace.marks.iter().filter(|mark| mark.what == What::Evaluation);
        let begins: Vec<usize> = evaluations.map(|mark| mark.after).collect();
        assert!(begins.len() == 1 && begins[0] < trace.events.len(), "{begins:?}");
        let exhibit = Exhibit::of_trace(&trace).unwrap();
        let marks: Vec<&str> = exhibit.marks.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(marks, ["step 1", "evaluation"]);
        let held = |role: &str, tick: u32| -> Bytes {
            let live = exhibit.buffers.iter().filter(|buffer| buffer.live.contains(&tick));
            live.filter(|buffer| exhibit.texts.get(buffer.role) == role).map(|buffer| buffer.bytes).sum()
        };
        let (start, end) = (exhibit.marks[1].0, exhibit.ticks - 1);
        for role in ["parameter", "optimizer_state", "accumulator"] {
            let steady: Vec<Bytes> = [0, start, end].map(|tick| held(role, tick)).to_vec();
            assert!(steady.iter().all(|bytes| *bytes == steady[0]), "{role} {steady:?}");
        }
        assert!(held("optimizer_state", end) > Bytes::ZERO);
        assert!(exhibit.notes.contains(&"3 more steps were the same as one that is shown.".to_string()));
    }
}

#[test]
fn files_have_less_than_ten_bytes_an_event() {
    for (spec, batch) in
        [("mlp@64", 8), ("cnn@8,channels=1", 4), ("resnet20@32", 2), ("transformer@6,vocab=20,layers=1", 2)]
    {
        let prepared = prepare(spec, batch);
        for steps in [1, 20] {
            let sheet = Sheet::new();
            planned(&prepared, Some(&sheet), steps);
            let (trace, bytes) = sheet.read();
            let (written, all) =
                (bytes as f64 / trace.events.len() as f64, bytes as f64 / happened(&trace) as f64);
            println!("{spec}, {steps} steps: {written:.2} bytes an event written, {all:.2} an event");
            assert!(steps == 1 || all < 10.0, "{spec}, {steps} steps: {all}");
            // A single step has to pay for the names and what the file says about itself, so only large ones come near.
            assert!(steps == 20 || trace.events.len() < 500 || written < 10.0, "{spec}: {written}");
        }
        let sheet = Sheet::new();
        eager(&prepared, Bytes::mib(512), Some(&sheet)).unwrap();
        let (trace, bytes) = sheet.read();
        let each = bytes as f64 / trace.events.len() as f64;
        println!("{spec}, eager: {each:.2} bytes an event");
        assert!(each < 10.0, "{spec}, eager: {each}");
    }
}

fn eager(prepared: &Prepared, limit: Bytes, sheet: Option<&Sheet>) -> Result<Outcome, plimsoll::JobError> {
    let device = Device::host(limit);
    let data = data::open("synthetic", &Wanted::of(&prepared.training), 3).unwrap();
    let allocator = Box::new(|| Box::new(Bfc::new(BfcOptions::default())) as _);
    let options = EagerOptions { allocator, on_shortage: OnShortage::Stop };
    let mut trainer = EagerTrainer::new(vec![prepared.clone()], &device, run(STEPS), options)?;
    if let Some(sheet) = sheet {
        trainer.record_to(sheet.recorder(prepared, &device, Way::Eager("bfc")));
    }
    let outcome = trainer.train(&data, |_| {});
    if let Some(finished) = trainer.finish_recording() {
        finished.unwrap();
    }
    outcome
}

#[test]
fn an_eager_run_records_its_pool() {
    let prepared = prepare("cnn@8,channels=1", 8);
    let sheet = Sheet::new();
    let outcome = eager(&prepared, Bytes::mib(64), Some(&sheet)).unwrap();
    let (trace, _) = sheet.read();
    let pool = outcome.pool.unwrap();
    assert_eq!(reserved(&trace).iter().map(|(_, bytes)| *bytes).max(), Some(pool.peak_reserved));
    assert_eq!(summarize(&trace).floor, pool.peak_in_use);
    assert_eq!((trace.about.allocator.as_str(), trace.about.limit), ("bfc", Some(Bytes::mib(64))));
    let plain = eager(&prepared, Bytes::mib(64), None).unwrap();
    assert_eq!(plain.last.loss.to_bits(), outcome.last.loss.to_bits());
}

#[test]
fn running_out_of_memory_is_recorded() {
    let prepared = prepare("cnn@8,channels=1", 32);
    let sheet = Sheet::new();
    eager(&prepared, Bytes::mib(2), Some(&sheet)).unwrap_err();
    let (trace, _) = sheet.read();
    let refused = trace.marks.iter().find(|mark| matches!(mark.what, What::Refused { .. }));
    let What::Refused { bytes, label } = refused.expect("a request was refused").what else { return };
    assert!(bytes > Bytes::ZERO && !trace.label(label).op.is_empty());
}
