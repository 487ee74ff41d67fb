//! Measures how fast this machine runs each class of ops, with the real kernels, in a few seconds.
//!
//! Specimens of every class are run through the executor and timed, and prices are fitted to their times. The result is
//! a [`Profile`] that predicts how long any step will take.

mod bench;
mod fit;
mod specimens;

use fit::{Measured, fit};
use plimsoll_graph::TensorType;
use plimsoll_memory::OutOfMemory;
use plimsoll_plan::{Class, Effort, Profile, work};
use specimens::{Specimen, specimens};
use std::collections::BTreeMap;

/// How thoroughly to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thoroughness {
    /// How often each specimen is run.
    pub runs: usize,
    /// Specimens with more flops or bytes than this are left out; fewer make a profile that is worse for large ops.
    pub most_work: u64,
}

impl Default for Thoroughness {
    fn default() -> Self {
        Self { runs: 6, most_work: u64::MAX }
    }
}

/// Measures this machine with a pool of so many threads. `progress` hears of specimens done, of how many.
pub fn calibrate(
    threads: usize,
    thoroughness: Thoroughness,
    mut progress: impl FnMut(usize, usize),
) -> Result<Profile, OutOfMemory> {
    let mut specimens = specimens();
    specimens.retain(|one| is_within(one, thoroughness.most_work));
    let mut classes: BTreeMap<Class, Vec<Measured>> = BTreeMap::new();
    for (index, one) in specimens.iter().enumerate() {
        let seconds = bench::seconds(one, threads, thoroughness.runs)?;
        let effort = Effort::of(&one.kind, &one.inputs, &outputs(one));
        let class = Class::of(&one.kind, &one.inputs).expect("no specimen is a view");
        classes.entry(class).or_default().push(Measured { effort, seconds });
        progress(index + 1, specimens.len());
    }
    let costs = classes.into_iter().map(|(class, measured)| (class, fit(&measured))).collect();
    Ok(Profile { machine: machine(), threads, calibrated: true, costs })
}

/// What this machine is: processor, cores, and the version of the kernels.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} · {cores} cores · plimsoll {}", processor(), env!("CARGO_PKG_VERSION"))
}

/// The processor's name as the system gives it, or the architecture where it gives none.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    name.filter(|name| !name.is_empty()).unwrap_or(std::env::consts::ARCH).to_string()
}

fn outputs(specimen: &Specimen) -> Vec<TensorType> {
    specimen.kind.infer(&specimen.inputs).expect("specimens fit their ops")
}

fn is_within(specimen: &Specimen, most: u64) -> bool {
    let work = work(&specimen.kind, &specimen.inputs, &outputs(specimen));
    work.flops.max(work.bytes) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_calibration_prices_every_class() {
        let quick = Thoroughness { runs: 1, most_work: 10_000_000 };
        let mut heard = Vec::new();
        let profile = calibrate(1, quick, |done, all| heard.push((done, all))).unwrap();
        assert!(profile.is_sound(), "{profile:?}");
        assert!(profile.calibrated);
        assert_eq!((profile.threads, profile.machine), (1, machine()));
        assert_eq!(heard.last(), Some(&(heard.len(), heard.len())));
    }

    #[test]
    fn specimens_take_little_memory() {
        for one in specimens() {
            let peak = bench::peak(&one, 2);
            assert!(peak < plimsoll_trace::Bytes::mib(200), "{} needs {peak}", one.kind.name());
        }
    }
}
