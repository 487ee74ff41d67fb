//! Data of one's own: two inputs, a class and a number to predict, samples that count differently.
//!
//! `cargo run --release -p plimsoll --example own_data`

use plimsoll::data::{Dataset, InMemory};
use plimsoll::graph::ElementType;
use plimsoll::memory::Device;
use plimsoll::model::layer::{Concatenate, Dense};
use plimsoll::model::{Builder, Model};
use plimsoll::train::{Head, Loss, Objective};
use plimsoll::{Bytes, Job, Outcome, Run, Trainer};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let outcome = train()?;
    println!("the peak was {}", outcome.measured_peak);
    let test = outcome.test.ok_or("there are samples to judge by")?;
    for head in &test.heads {
        println!("{}: loss {:.4}, accuracy {:?}", head.output, head.loss, head.accuracy);
    }
    Ok(())
}

/// Where a point lies, from two coordinates: in which quarter of the plane, and how far out.
fn model() -> Model {
    let mut net = Builder::new("points");
    let east = net.named_input("east", [1], ElementType::F32);
    let north = net.named_input("north", [1], ElementType::F32);
    let both = net.add("both", Concatenate { axis: -1 }, &[east, north]);
    let hidden = net.add("hidden", Dense::new(32).relu(), &[both]);
    let quarter = net.add("quarter", Dense::new(4).softmax(), &[hidden]);
    let distance = net.add("distance", Dense::new(1), &[hidden]);
    net.build_all(&[quarter, distance])
}

/// So many points; those far out count more.
fn points(count: usize) -> Result<InMemory, Box<dyn Error>> {
    let at = |speed: f32| (0..count).map(|i| (i as f32 * speed).sin()).collect::<Vec<f32>>();
    let (east, north) = (at(0.7), at(1.9));
    let quarter = east.iter().zip(&north).map(|(x, y)| i32::from(*x > 0.0) + 2 * i32::from(*y > 0.0));
    let distance: Vec<f32> = east.iter().zip(&north).map(|(x, y)| x.hypot(*y)).collect();
    let quarter: Vec<i32> = quarter.collect();
    Ok(InMemory::new()
        .input("east", [1], east)?
        .input("north", [1], north)?
        .target("quarter", [], quarter)?
        .target("distance", [1], distance.clone())?
        .sample_weight("distance", distance)?)
}

fn train() -> Result<Outcome, Box<dyn Error>> {
    let quarter = Head::new(0, "quarter", Loss::SparseCategoricalCrossEntropy { from_logits: false });
    let distance = Head::new(1, "distance", Loss::MeanSquaredError).weighted(0.5);
    let distance = Head { sample_weights: true, ..distance };
    let job = Job { objective: Objective { heads: vec![quarter, distance] }, ..Job::new(model(), 32) };

    let budget = Bytes::mib(1);
    let prepared = job.prepare_within(budget)?;
    let data = Dataset::new("points", points(1000)?, Some(points(200)?));
    let run = Run { steps: 400, learning_rate: 0.01, seed: 0, poison: false };
    Ok(Trainer::new(prepared, &Device::host(budget), run)?.train(&data, |_| {})?)
}

#[test]
fn points_are_told_apart() {
    let test = train().unwrap().test.unwrap();
    let [quarter, distance] = &test.heads[..] else { panic!("there are two heads") };
    assert!(quarter.accuracy.unwrap() > 0.9, "{test:?}");
    assert!(distance.loss < 0.05 && distance.accuracy.is_none(), "{test:?}");
}
