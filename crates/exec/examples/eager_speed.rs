//! Measures what an eager device adds to its allocator: the time of a take and a free through [`Pool`], beside the same
//! calls made to the allocator itself, on the requests of a training step. The best of several rounds, since others use
//! the machine too.
//!
//! `cargo run --release -p plimsoll-exec --example eager_speed`

use plimsoll_exec::eager::Pool;
use plimsoll_exec::{Eager, RunSettings};
use plimsoll_memory::{ALLOCATOR_NAMES, AllocatorOptions, Device, HostRegions, by_name};
use plimsoll_model::{Mode, zoo};
use plimsoll_trace::{BlockId, Bytes, Event, Label, LabelId};
use plimsoll_train::{Loss, Optimizer, training_graph};
use std::collections::HashMap;
use std::time::Instant;

const ROUNDS: usize = 15;
const LIMIT: Bytes = Bytes::mib(4096);

/// A request or the end of one, by its position in a table of live blocks.
#[derive(Clone, Copy)]
enum Call {
    Take(usize, Bytes),
    Free(usize),
}

fn main() {
    let calls = calls_of_a_step("resnet20@32", 8);
    let pairs = calls.iter().filter(|call| matches!(call, Call::Take(..))).count();
    println!("{pairs} blocks of one step of resnet20@32, batch 8; ns for a take and its free");
    println!("{:18} {:>10} {:>10} {:>10}", "allocator", "alone", "eager", "added");
    for name in ALLOCATOR_NAMES {
        let (mut alone, mut eager) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            alone = alone.min(time_alone(name, &calls) / pairs as f64);
            eager = eager.min(time_eager(name, &calls) / pairs as f64);
        }
        println!("{name:18} {alone:10.0} {eager:10.0} {:10.0}", eager - alone);
    }
}

/// What one real step asks of its allocator, without what stays after it.
fn calls_of_a_step(spec: &str, batch: usize) -> Vec<Call> {
    let forward = zoo::find(spec).expect("it is in the zoo").lower(batch, Mode::Training).expect("it lowers");
    let loss = Loss::SparseCategoricalCrossEntropy { from_logits: false };
    let training = training_graph(forward, &loss.into(), Optimizer::Sgd).expect("it can be trained");
    let settings = RunSettings { poison: false, record: true };
    let make = || by_name("bfc", &AllocatorOptions::default()).expect("it has this name");
    let mut eager = Eager::new(&Device::host(LIMIT), Box::new(make), 2, settings).unwrap();
    let program = eager.load(training.graph.clone(), &[]).expect("there is room");
    let before = eager.recording().events.len();
    eager.begin(program).expect("there is room");
    training.graph.inputs().for_each(|id| match training.graph.tensor(id).element {
        plimsoll_graph::ElementType::I32 => eager.i32_mut(program, id).fill(1),
        _ => eager.f32_mut(program, id).fill(0.5),
    });
    eager.run(program).expect("there is room");
    eager.release();
    renumbered(&eager.recording().events[before..])
}

fn renumbered(events: &[Event]) -> Vec<Call> {
    let mut positions: HashMap<BlockId, usize> = HashMap::new();
    let call = |event: &Event| match *event {
        Event::Take { block, bytes, .. } => {
            let next = positions.len();
            Call::Take(*positions.entry(block).or_insert(next), bytes)
        }
        Event::Free { block, .. } => Call::Free(positions[&block]),
    };
    events.iter().map(call).collect()
}

/// Nanoseconds for all calls, made twice: the first time reserves the regions.
fn time_alone(name: &str, calls: &[Call]) -> f64 {
    let mut allocator = by_name(name, &AllocatorOptions::default()).expect("it has this name");
    let mut regions = HostRegions::new(&Device::host(LIMIT));
    let mut live = vec![None; calls.len()];
    let mut start = Instant::now();
    for _ in 0..2 {
        start = Instant::now();
        for call in calls {
            match *call {
                Call::Take(position, bytes) => {
                    live[position] = allocator.take(bytes, LabelId(0), &mut regions).ok();
                }
                Call::Free(position) => {
                    let block = live[position].expect("there was room");
                    allocator.free(block.address, &mut regions).expect("it is live");
                }
            }
        }
    }
    start.elapsed().as_nanos() as f64
}

/// The same through the pool of an eager device.
fn time_eager(name: &str, calls: &[Call]) -> f64 {
    let name = name.to_string();
    let make = move || by_name(&name, &AllocatorOptions::default()).expect("it has this name");
    let mut pool = Pool::new(&Device::host(LIMIT), Box::new(make));
    let label = pool.add_label(Label::default());
    let mut live = vec![None; calls.len()];
    let mut start = Instant::now();
    for _ in 0..2 {
        start = Instant::now();
        for call in calls {
            match *call {
                Call::Take(position, bytes) => live[position] = pool.take(bytes, label).ok(),
                Call::Free(position) => pool.free(live[position].expect("there was room")),
            }
        }
    }
    start.elapsed().as_nanos() as f64
}
