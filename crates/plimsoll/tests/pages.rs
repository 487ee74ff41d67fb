//! Arenas in pages, exercised on the CPU: pages so small that hardly more than one buffer has room in each change
//! neither a bit of a run nor the promise about its peak.

use plimsoll::data::{self, Wanted};
use plimsoll::exec::CpuBackend;
use plimsoll::memory::{Device, Growth, Host, PhysicalDevice};
use plimsoll::model::zoo;
use plimsoll::{Bytes, Job, Prepared, Run, Trainer};
use std::sync::Arc;

const RUN: Run = Run { steps: 4, learning_rate: 1e-3, seed: 5, poison: true };

/// The bits of the loss of every step and of the accuracy on the test samples.
fn bits(prepared: &Prepared, device: &Device) -> Vec<u32> {
    let data = data::open("digits", &Wanted::of(&prepared.training), RUN.seed).unwrap();
    let mut losses = Vec::new();
    let mut trainer = Trainer::new(prepared.clone(), device, RUN).unwrap();
    let outcome = trainer.train(&data, |progress| losses.push(progress.loss.to_bits())).unwrap();
    assert_eq!(outcome.measured_peak, prepared.peak());
    losses.push(outcome.accuracy().unwrap().to_bits());
    losses
}

/// The size of the largest buffer of any plan of the job, on the CPU, is as small as a page can be.
fn in_small_pages(job: &Job, whole: &Prepared) -> Prepared {
    let buffers = whole.arena.plans().iter().flat_map(|plan| &plan.plan().buffers);
    let largest = buffers.map(|buffer| buffer.bytes).max().unwrap();
    // A multiple of 256, and seldom one of the pages that the operating system has.
    let page = Some(Bytes(largest.0.next_multiple_of(256)));
    Job { backend: Arc::new(CpuBackend { page, ..CpuBackend::new(2) }), ..job.clone() }.prepare().unwrap()
}

#[test]
fn training_in_pages_gives_the_same_bits() {
    for (model, micro_batches) in [("cnn@8,channels=1", 1), ("cnn@8,channels=1", 3), ("mlp@64", 1)] {
        let job = Job { micro_batches, ..Job::new(zoo::find(model).unwrap(), 16).on_threads(2) };
        let whole = job.prepare().unwrap();
        let paged = in_small_pages(&job, &whole);
        let page = paged.arena.page().unwrap();
        assert!(paged.peak().0.div_ceil(page.0) > 2, "{model}: {} in pages of {page}", paged.peak());
        let wanted = bits(&whole, &Device::host(whole.peak()));
        for growth in [Growth::On, Growth::Off] {
            let host = PhysicalDevice::new(Host::of(Bytes::mib(64)));
            let device = host.logical("host", paged.peak(), growth).unwrap();
            assert_eq!(bits(&paged, &device), wanted, "{model} in {micro_batches} micro-batches");
        }
    }
}
