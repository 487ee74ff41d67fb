//! A small network of one's own, trained on the embedded digits inside 4 MiB:
//! `cargo run --release -p plimsoll --example digits`.

use plimsoll::data::{self, Wanted};
use plimsoll::memory::Device;
use plimsoll::model::Builder;
use plimsoll::model::layer::{Conv2d, Dense, Flatten, Pooling2d};
use plimsoll::{Bytes, Job, JobError, Run, Trainer};

fn main() -> Result<(), JobError> {
    let mut net = Builder::new("mine");
    let x = net.input([8, 8, 1]);
    let x = net.add("conv", Conv2d::new(32, 3).relu(), &[x]);
    let x = net.add("pool", Pooling2d::max(2), &[x]);
    let x = net.add("flatten", Flatten {}, &[x]);
    let x = net.add("predictions", Dense::new(10).softmax(), &[x]);

    let budget = Bytes::mib(4);
    let prepared = Job::new(net.build(x), 64).prepare_within(budget)?;
    println!("the peak will be {}", prepared.peak());

    let data = data::open("digits", &Wanted::of(&prepared.training), 0)?;
    let run = Run { steps: 400, learning_rate: 0.003, seed: 0, poison: false };
    let outcome = Trainer::new(prepared, &Device::host(budget), run)?.train(&data, |_| {})?;
    println!("the peak was {}, the accuracy is {:?}", outcome.measured_peak, outcome.accuracy());
    Ok(())
}
