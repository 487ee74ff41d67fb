//! Two jobs in one process, each on its own logical device of one host: neither can take what is the other's.

use plimsoll::data::{self, Wanted};
use plimsoll::memory::{Device, Growth, Host, PhysicalDevice};
use plimsoll::model::zoo;
use plimsoll::{Bytes, Job, JobError, Prepared, Run, Trainer};

const RUN: Run = Run { steps: 12, learning_rate: 1e-3, seed: 5, poison: false };

fn prepared(model: &str) -> Prepared {
    Job::new(zoo::find(model).unwrap(), 16).on_threads(1).prepare().unwrap()
}

/// The bits of the loss of every step.
fn losses(prepared: &Prepared, device: &Device) -> Result<Vec<u32>, JobError> {
    let data = data::open("digits", &Wanted::of(&prepared.training), RUN.seed)?;
    let mut losses = Vec::new();
    let mut trainer = Trainer::new(prepared.clone(), device, RUN)?;
    trainer.train(&data, |progress| losses.push(progress.loss.to_bits()))?;
    Ok(losses)
}

#[test]
fn one_job_out_of_memory_does_not_disturb_the_other() {
    let (calm, greedy) = (prepared("cnn@8,channels=1"), prepared("mlp@64"));
    let alone = losses(&calm, &Device::host(calm.peak())).unwrap();
    assert_eq!(alone.len(), 12);

    let host = PhysicalDevice::new(Host::of(Bytes::mib(16)));
    let limits = [calm.peak(), Bytes(greedy.peak().0 - 1)];
    let [first, second] = host.split(&limits, Growth::On).unwrap().try_into().unwrap();
    let (beside, refusals) = std::thread::scope(|scope| {
        let calm_job = scope.spawn(|| losses(&calm, &first).unwrap());
        let greedy_job =
            scope.spawn(|| (0..50).map(|_| losses(&greedy, &second).unwrap_err()).collect::<Vec<JobError>>());
        (calm_job.join().unwrap(), greedy_job.join().unwrap())
    });
    assert_eq!(beside, alone, "bit for bit the losses of the job alone");
    for refusal in &refusals {
        let JobError::OutOfMemory(evidence) = refusal else { panic!("{refusal}") };
        assert_eq!((evidence.device.as_str(), evidence.requested), ("host:1", greedy.peak()));
        assert_eq!(evidence.holders, [], "host:0's memory is not in host:1's list");
    }
    let within = greedy.job.prepare_within(second.limit());
    assert!(matches!(within, Err(JobError::OverBudget(_))));

    second.resize(greedy.peak()).unwrap();
    losses(&greedy, &second).unwrap();
    assert_eq!([first.in_use(), second.in_use()], [Bytes::ZERO; 2]);
}

#[test]
fn two_jobs_at_once_get_the_losses_they_get_alone() {
    let jobs = [prepared("cnn@8,channels=1"), prepared("lenet@8,channels=1")];
    let alone = jobs.each_ref().map(|job| losses(job, &Device::host(job.peak())).unwrap());
    for growth in [Growth::On, Growth::Off] {
        let host = PhysicalDevice::new(Host::of(Bytes::mib(64)));
        let devices = host.split(&jobs.each_ref().map(Prepared::peak), growth).unwrap();
        let together = std::thread::scope(|scope| {
            let both = [0, 1].map(|i| {
                scope.spawn({
                    let (job, device) = (&jobs[i], &devices[i]);
                    move || losses(job, device).unwrap()
                })
            });
            both.map(|job| job.join().unwrap())
        });
        assert_eq!(together, alone, "{growth:?}");
    }
}
