//! Recording a run: what its trace says about itself, and where it goes.
//!
//! ```
//! use plimsoll::recording::{Way, about};
//! use plimsoll::trace::{Recorder, file, verify};
//! use plimsoll::{Bytes, Job, Run, Trainer, data, memory::Device, model::zoo};
//!
//! let prepared = Job::new(zoo::find("mlp@64")?, 32).prepare()?;
//! let device = Device::host(Bytes::mib(8));
//! let about = about(&[prepared.clone()], "my run", &device, Way::Planned);
//! let data = data::open("synthetic", &data::Wanted::of(&prepared.training), 0)?;
//! let run = Run { steps: 3, learning_rate: 0.001, seed: 0, poison: false };
//! let mut trainer = Trainer::new(prepared, &device, run)?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.trace");
//! trainer.record_to(Recorder::new(Box::new(std::fs::File::create(&path)?), &about)?);
//! let outcome = trainer.train(&data, |_| {})?;
//! trainer.finish_recording().expect("there is one")?;
//!
//! let (trace, cut) = file::read(std::fs::File::open(&path)?)?;
//! assert!(verify(&trace).is_ok() && !cut);
//! assert_eq!(plimsoll::trace::summarize(&trace).peak, outcome.measured_peak);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::Prepared;
use plimsoll_memory::Device;
use plimsoll_trace::About;

/// Who decides where blocks lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way<'a> {
    /// A plan.
    Planned,
    /// An allocator, by its name.
    Eager(&'a str),
}

/// What the trace of a run says about itself.
pub fn about(prepared: &[Prepared], title: &str, device: &Device, way: Way<'_>) -> About {
    let (origin, allocator) = match way {
        Way::Planned => ("planned run", "plan"),
        Way::Eager(allocator) => ("eager run", allocator),
    };
    About {
        title: title.to_string(),
        origin: origin.to_string(),
        allocator: allocator.to_string(),
        batch: prepared.first().and_then(|one| u32::try_from(one.job.batch).ok()),
        limit: Some(device.limit()),
        floor: prepared.iter().map(Prepared::floor).max(),
        planned_peak: prepared.iter().map(Prepared::peak).max(),
        reported_peak: None,
    }
}
