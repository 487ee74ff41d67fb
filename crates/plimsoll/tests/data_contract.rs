//! The contract between a trainer and data of one's own: what is wrong with samples is said before anything runs.

use plimsoll::data::{Bound, ClassWeights, DataError, Dataset, InMemory};
use plimsoll::graph::ElementType;
use plimsoll::memory::Device;
use plimsoll::model::layer::{Dense, Merge};
use plimsoll::model::{Builder, Model};
use plimsoll::train::{Head, Loss, Objective, Optimizer};
use plimsoll::{Job, JobError, Progress, Run, Trainer};

const LABELS: Loss = Loss::SparseCategoricalCrossEntropy { from_logits: true };
const NUMBERS: Loss = Loss::MeanSquaredError;
const BATCH: usize = 4;
const COUNT: usize = 10;

/// Two inputs that are added up, and two outputs.
fn model() -> Model {
    let mut net = Builder::new("two");
    let left = net.named_input("left", [3], ElementType::F32);
    let right = net.named_input("right", [3], ElementType::F32);
    let sum = net.add("sum", Merge::Add, &[left, right]);
    let (class, age) = (net.add("class", Dense::new(4), &[sum]), net.add("age", Dense::new(1), &[sum]));
    net.build_all(&[class, age])
}

fn objective() -> Objective {
    Objective { heads: vec![Head::new(0, "class", LABELS), Head::new(1, "age", NUMBERS).weighted(0.5)] }
}

fn trainer(objective: Objective, steps: u64) -> Trainer {
    let optimizer = Optimizer::Sgd;
    let job = Job { objective, optimizer, ..Job::new(model(), BATCH).on_threads(1) };
    let prepared = job.prepare().unwrap();
    let device = Device::host(prepared.peak());
    Trainer::new(prepared, &device, Run { steps, learning_rate: 0.1, seed: 1, poison: true }).unwrap()
}

fn wave(count: usize, speed: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * speed).sin()).collect()
}

fn inputs(right: f32) -> InMemory {
    let left = InMemory::new().input("left", [3], wave(3 * COUNT, 0.7)).unwrap();
    left.input("right", [3], wave(3 * COUNT, right)).unwrap()
}

fn samples(right: f32) -> InMemory {
    let classes = (0..COUNT as i32).map(|i| i % 4).collect::<Vec<_>>();
    let classes = inputs(right).target("class", [], classes).unwrap();
    classes.target("age", [1], wave(COUNT, 1.3)).unwrap()
}

fn step(trainer: &mut Trainer, data: &InMemory, samples: &[usize]) -> Result<Progress, JobError> {
    let data = trainer.bind(data)?;
    trainer.step(1, &data, samples)
}

fn refusal(result: Result<impl Sized, JobError>) -> DataError {
    match result {
        Err(JobError::Data(error)) => error,
        Err(other) => panic!("refused for another reason: {other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn every_input_reaches_the_model() {
    let loss = |right: f32| step(&mut trainer(objective(), 1), &samples(right), &[0, 1, 2, 3]).unwrap().loss;
    assert_ne!(loss(0.3), loss(0.9), "the second input makes a difference");
}

#[test]
fn the_total_is_the_weighted_sum_of_the_heads() {
    let progress = step(&mut trainer(objective(), 1), &samples(0.3), &[3, 1, 4, 5]).unwrap();
    let [class, age] = &progress.heads[..] else { panic!("there are two heads") };
    assert_eq!((class.output.as_str(), age.output.as_str()), ("class", "age"));
    assert!((progress.loss - (class.loss + 0.5 * age.loss)).abs() < 1e-6, "{progress:?}");
    assert!(class.accuracy.is_some() && age.accuracy.is_none(), "only classes can be right");
}

#[test]
fn what_the_data_lacks_is_named() {
    let trainer = trainer(objective(), 1);
    let one = InMemory::new().input("left", [3], wave(3 * COUNT, 0.7)).unwrap();
    let missing = refusal(trainer.bind(&one));
    assert_eq!(missing.to_string(), "the data has no input `right` of f32[3]; it has input `left` of f32[3]");
    let no_truth = inputs(0.3).target("class", [], vec![0; COUNT]).unwrap();
    assert!(refusal(trainer.bind(&no_truth)).to_string().contains("no target `age` of f32[1]"));
    let misfit = inputs(0.3).target("class", [4], wave(4 * COUNT, 1.0)).unwrap();
    let wrong = refusal(trainer.bind(&misfit)).to_string();
    assert_eq!(wrong, "the data has the target `class` of f32[4], where the model takes i32[]");
    let weighted = samples(0.3).sample_weight("age", vec![1.0; COUNT]).unwrap();
    assert!(matches!(refusal(trainer.bind(&weighted)), DataError::IdleWeights { .. }));
}

#[test]
fn weights_that_were_planned_must_come() {
    let trainer = trainer(objective().with_sample_weights(), 1);
    assert!(refusal(trainer.bind(&samples(0.3))).to_string().contains("sample weight `class`"));
}

#[test]
fn a_step_takes_as_many_samples_as_were_planned() {
    let (mut trainer, data) = (trainer(objective(), 1), samples(0.3));
    for wrong in [&[][..], &[0], &[0, 1, 2], &[0, 1, 2, 3, 4]] {
        let error = refusal(step(&mut trainer, &data, wrong));
        assert_eq!(error, DataError::BatchSize { planned: BATCH, given: wrong.len() });
    }
    let error = refusal(step(&mut trainer, &data, &[0, 1, 2, COUNT]));
    assert_eq!(error, DataError::NoSuchSample { sample: COUNT, count: COUNT });
}

#[test]
fn samples_bound_by_another_trainer_are_refused() {
    let (first, mut second) = (trainer(objective(), 1), trainer(objective(), 1));
    let data = samples(0.3);
    let bound: Bound<'_> = first.bind(&data).unwrap();
    assert_eq!(refusal(second.step(1, &bound, &[0, 1, 2, 3])), DataError::OtherTrainer);
}

#[test]
fn runs_that_make_no_sense_are_refused() {
    let all = |train: InMemory| Dataset::new("mine", train, None::<InMemory>);
    let none = trainer(objective(), 0).train(&all(samples(0.3)), |_| {});
    assert!(matches!(none, Err(JobError::NoSteps)), "{none:?}");
    assert_eq!(refusal(trainer(objective(), 1).train(&all(InMemory::new()), |_| {})), DataError::Empty);
    let empty_test = Dataset::new("mine", samples(0.3), Some(InMemory::new()));
    assert_eq!(refusal(trainer(objective(), 1).train(&empty_test, |_| {})), DataError::Empty);
    let few = InMemory::new().input("left", [3], wave(6, 0.7)).unwrap();
    let few = few.input("right", [3], wave(6, 0.2)).unwrap();
    let few = few.target("class", [], vec![0, 1]).unwrap().target("age", [1], vec![0.0f32; 2]).unwrap();
    let error = refusal(trainer(objective(), 1).train(&all(few), |_| {}));
    assert_eq!(error, DataError::TooFew { batch: BATCH, samples: 2 });
}

/// Ten samples in batches of four: the last batch is not full, and what fills it up must not count.
#[test]
fn regression_is_judged_by_its_loss_and_classes_by_their_accuracy() {
    let mut trainer = trainer(objective(), 3);
    let data = Dataset::new("mine", samples(0.3), Some(samples(0.3)));
    let test = trainer.train(&data, |_| {}).unwrap().test.unwrap();
    assert!(test.heads[0].accuracy.is_some() && test.heads[1].accuracy.is_none(), "{test:?}");
    let mut alone = [0.0; 3];
    for sample in 0..COUNT {
        let one = trainer.evaluate(&only(sample)).unwrap();
        for (sum, score) in alone.iter_mut().zip([one.loss, one.heads[0].loss, one.heads[1].loss]) {
            *sum += score / COUNT as f32;
        }
    }
    let found = [test.loss, test.heads[0].loss, test.heads[1].loss];
    assert!(alone.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-5), "{alone:?} {found:?}");
}

/// One of the samples.
fn only(sample: usize) -> InMemory {
    let part = |column: Vec<f32>, each: usize| column[sample * each..][..each].to_vec();
    let left = InMemory::new().input("left", [3], part(wave(3 * COUNT, 0.7), 3)).unwrap();
    let both = left.input("right", [3], part(wave(3 * COUNT, 0.3), 3)).unwrap();
    let class = both.target("class", [], vec![sample as i32 % 4]).unwrap();
    class.target("age", [1], part(wave(COUNT, 1.3), 1)).unwrap()
}

#[test]
fn class_weights_are_sample_weights() {
    let mut weighted = objective();
    weighted.heads[0].sample_weights = true;
    let classes = [2.0f32, 1.0, 0.5, 1.0];
    let by_sample = (0..COUNT).map(|i| classes[i % 4]).collect();
    let own = samples(0.3).sample_weight("class", by_sample).unwrap();
    let derived = ClassWeights::new(Box::new(samples(0.3)), "class", [(0, 2.0), (2, 0.5)]).unwrap();
    let losses = [&own as &dyn plimsoll::data::Samples, &derived].map(|data| {
        let mut trainer = trainer(weighted.clone(), 1);
        let data = trainer.bind(data).unwrap();
        trainer.step(1, &data, &[0, 1, 2, 3]).unwrap().loss
    });
    assert_eq!(losses[0].to_bits(), losses[1].to_bits());
    assert_ne!(losses[0], step(&mut trainer(objective(), 1), &samples(0.3), &[0, 1, 2, 3]).unwrap().loss);
}

/// Sums over parts are sums over the batch, weights included.
#[test]
fn weighted_heads_in_micro_batches_are_the_same() {
    let data = samples(0.3).sample_weight("class", wave(COUNT, 0.4)).unwrap();
    let data = data.sample_weight("age", wave(COUNT, 2.1)).unwrap();
    let losses = [1, 3].map(|micro_batches| {
        let objective = objective().with_sample_weights();
        let job = Job { objective, micro_batches, ..Job::new(model(), BATCH).on_threads(1) };
        let prepared = job.prepare().unwrap();
        let device = Device::host(prepared.peak());
        let run = Run { steps: 5, learning_rate: 0.05, seed: 1, poison: true };
        let mut trainer = Trainer::new(prepared, &device, run).unwrap();
        let mut losses = Vec::new();
        let data = Dataset::new("mine", data.clone(), None::<InMemory>);
        trainer.train(&data, |progress| losses.push(progress.loss)).unwrap();
        losses
    });
    for (whole, parts) in losses[0].iter().zip(&losses[1]) {
        assert!((whole - parts).abs() < 1e-5 * whole.abs().max(1.0), "{losses:?}");
    }
}
