//! States: what is saved is what is loaded, to the bit, and a run that goes on from one is the run that was never
//! interrupted.

use plimsoll::data::{self, Dataset, Wanted};
use plimsoll::graph::Role;
use plimsoll::memory::{Bfc, BfcOptions, Device};
use plimsoll::model::layer::{BatchNormalization, Conv2d, Dense, Dropout, Flatten};
use plimsoll::model::{Builder, Model};
use plimsoll::state::{Contents, State, StateError, each_chunk, safetensors};
use plimsoll::train::Optimizer;
use plimsoll::{Bytes, EagerOptions, EagerTrainer, Exchange, Job, OnShortage, Prepared, Run, Trainer};
use std::path::Path;

/// Batches do not divide the 1,437 samples, so epochs end within a step.
const BATCH: usize = 300;

/// Statistics that follow batches, and masks that depend on the step.
fn model(units: usize, normalized: bool) -> Model {
    let mut net = Builder::new("small");
    let mut x = net.input([8, 8, 1]);
    x = net.add("conv", Conv2d::new(4, 3).relu(), &[x]);
    if normalized {
        x = net.add("norm", BatchNormalization::default(), &[x]);
    }
    x = net.add("drop", Dropout::new(0.3), &[x]);
    x = net.add("flatten", Flatten {}, &[x]);
    x = net.add("predictions", Dense::new(units).softmax(), &[x]);
    net.build(x)
}

fn job(model: Model, optimizer: &str) -> Job {
    Job { optimizer: Optimizer::parse(optimizer).unwrap(), ..Job::new(model, BATCH).on_threads(2) }
}

fn digits(prepared: &Prepared) -> Dataset {
    data::open("digits", &Wanted::of(&prepared.training), 0).unwrap()
}

fn run(steps: u64) -> Run {
    Run { steps, learning_rate: 0.003, seed: 5, poison: true }
}

/// Everything that a state says, with what is in its tensors.
fn whole(state: &State, contents: &dyn Contents) -> (State, Vec<u8>) {
    let mut all = Vec::new();
    for tensor in 0..state.tensors.len() {
        each_chunk(state, contents, tensor, |_, bytes| {
            all.extend(bytes);
            Ok(())
        })
        .unwrap();
    }
    (state.clone(), all)
}

type Made = (Vec<u32>, (State, Vec<u8>));

/// Losses and the state at the end of a planned run that begins with a file, if there is one, and ends with one.
fn planned(prepared: &Prepared, steps: u64, from: Option<&Path>, save: Option<&Path>) -> Made {
    let mut trainer = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run(steps)).unwrap();
    if let Some(path) = from {
        let (state, file) = safetensors::open(path).unwrap();
        assert_eq!(trainer.restore(&state, &file).unwrap(), [""; 0]);
        assert_eq!(whole(&trainer.state(), &trainer.values()), whole(&state, &file));
    }
    let mut losses = Vec::new();
    trainer.train(&digits(prepared), |progress| losses.push(progress.loss.to_bits())).unwrap();
    save.into_iter().for_each(|path| safetensors::write(path, &trainer.state(), &trainer.values()).unwrap());
    (losses, whole(&trainer.state(), &trainer.values()))
}

fn eager(prepared: &Prepared, steps: u64, from: Option<&Path>, save: Option<&Path>) -> Made {
    let make = || Box::new(Bfc::new(BfcOptions::default())) as _;
    let options = EagerOptions { allocator: Box::new(make), on_shortage: OnShortage::Stop };
    let device = Device::host(Bytes::mib(256));
    let mut trainer = EagerTrainer::new(vec![prepared.clone()], &device, run(steps), options).unwrap();
    if let Some(path) = from {
        let (state, file) = safetensors::open(path).unwrap();
        assert_eq!(trainer.restore(&state, &file).unwrap(), [""; 0]);
        assert_eq!(whole(&trainer.state(), &trainer.values()), whole(&state, &file));
    }
    let mut losses = Vec::new();
    trainer.train(&digits(prepared), |progress| losses.push(progress.loss.to_bits())).unwrap();
    save.into_iter().for_each(|path| safetensors::write(path, &trainer.state(), &trainer.values()).unwrap());
    (losses, whole(&trainer.state(), &trainer.values()))
}

type Kind = fn(&Prepared, u64, Option<&Path>, Option<&Path>) -> Made;

/// Seven steps at once, and three and four by way of a file, which another kind of run may go on from.
fn check(name: &str, first: (&Prepared, Kind), second: (&Prepared, Kind)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.safetensors");
    let (losses, state) = first.1(first.0, 7, None, None);
    let (before, _) = first.1(first.0, 3, None, Some(&file));
    let (after, end) = second.1(second.0, 7, Some(&file), None);
    assert_eq!([before, after].concat(), losses, "{name}");
    assert_eq!(end.0, state.0, "{name}");
    assert!(end.1 == state.1, "{name}: tensors differ");
    let (made, position) = (7, 7 * BATCH as u64);
    assert_eq!((end.0.step, end.0.updates, end.0.position), (made, made, position), "{name}");
    assert_eq!((end.0.epoch, end.0.seed, end.0.model.as_str()), (position / 1437, 5, "small"), "{name}");
}

#[test]
fn a_run_that_goes_on_is_the_run_that_was_not_interrupted() {
    for (normalized, optimizer) in [(true, "adam"), (false, "momentum"), (true, "sgd")] {
        let whole = job(model(10, normalized), optimizer);
        let plain = whole.prepare().unwrap();
        check("planned", (&plain, planned), (&plain, planned));
        let one = whole.clone().on_threads(1).prepare().unwrap();
        check("another number of threads", (&plain, planned), (&one, planned));
        check("eager", (&plain, eager), (&plain, eager));
        check("planned, then eager", (&plain, planned), (&plain, eager));
    }
}

#[test]
fn what_is_computed_again_or_in_parts_goes_on_too() {
    let whole = job(model(10, true), "adam");
    let plain = whole.prepare().unwrap();
    let (persistent, peak) = (plain.plan().persistent.0, plain.peak().0);
    let less = whole.prepare_within(Bytes(persistent + (peak - persistent) * 8 / 10)).unwrap();
    assert!(less.peak() < plain.peak());
    check("computed again", (&plain, planned), (&less, planned));
    let parts = Job { micro_batches: 4, ..job(model(10, false), "adam") }.prepare().unwrap();
    check("in parts", (&parts, planned), (&parts, planned));
}

#[test]
fn states_of_others_are_refused_by_their_first_difference() {
    let prepared = |units, optimizer| job(model(units, true), optimizer).prepare().unwrap();
    let trainer =
        |prepared: &Prepared| Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run(2)).unwrap();
    let mut made = trainer(&prepared(10, "adam"));
    made.train(&digits(&prepared(10, "adam")), |_| {}).unwrap();
    let refusal = |other: &Prepared, state: &State| -> StateError {
        let mut other = trainer(other);
        let before = whole(&other.state(), &other.values());
        let error = other.restore(state, &made.values()).unwrap_err();
        assert!(whole(&other.state(), &other.values()) == before, "nothing changes");
        error
    };
    let state = made.state();
    let error = refusal(&prepared(12, "adam"), &state).to_string();
    assert_eq!(error, "`predictions/kernel` is f32[144,10] in the state, but f32[144,12] in the model");
    let error = refusal(&prepared(10, "momentum"), &state);
    assert!(error.to_string().contains("no `momentum/m/conv/kernel`"), "{error}");
    assert!(error.hint().unwrap().contains("another optimizer"));
    let mut cut = state.clone();
    cut.tensors.truncate(3);
    assert!(refusal(&prepared(10, "adam"), &cut).to_string().contains("the state has no `norm/"));
    let impossible = State { updates: 9, ..state };
    assert!(matches!(refusal(&prepared(10, "adam"), &impossible), StateError::Invalid(_)));
}

/// Weights alone: the optimizer starts afresh, and what is extra is said.
#[test]
fn weights_alone_are_a_beginning() {
    let prepared = job(model(10, true), "adam").prepare().unwrap();
    let mut made = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run(2)).unwrap();
    made.train(&digits(&prepared), |_| {}).unwrap();
    let mut weights = State { step: 0, updates: 0, epoch: 0, position: 0, ..made.state() };
    let kept = weights.tensors.iter().position(|tensor| tensor.role == Role::OptimizerState).unwrap();
    let all = made.state();
    assert!(all.tensors[kept..].iter().all(|tensor| tensor.role == Role::OptimizerState));
    weights.tensors.truncate(kept);
    let bytes = whole(&all, &made.values()).1;
    made.restore(&weights, &InARow(&bytes, &all)).unwrap();
    let (state, bytes) = whole(&made.state(), &made.values());
    let learned: u64 = weights.bytes().0;
    assert_eq!(state.step, 0);
    assert!(bytes[learned as usize..].iter().all(|&byte| byte == 0), "what Adam remembers begins with zeros");
    assert!(bytes[..learned as usize].iter().any(|&byte| byte != 0));
    weights.tensors[0].name = "other".to_string();
    assert!(made.restore(&weights, &made_of_nothing()).unwrap_err().to_string().contains("it has `other`"));
}

/// The bytes of all tensors in a row.
struct InARow<'a>(&'a [u8], &'a State);

impl Contents for InARow<'_> {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        let start: u64 = self.1.tensors[..tensor].iter().map(|tensor| tensor.bytes().0).sum();
        into.copy_from_slice(&self.0[(start + offset) as usize..][..into.len()]);
        Ok(())
    }
}

fn made_of_nothing() -> [Vec<u8>; 0] {
    []
}
