//! A search for a plan as it is asked for; what it finds is written down.

use crate::reports::FitReport;
use crate::{
    Allowed, Bytes, JobError, JobRequest, OpenedJob, PlanFile, RequestError, fit_and_explore, largest_batch,
    specification,
};
use std::path::{Path, PathBuf};

/// A search for a plan as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRequest {
    /// The step that must fit.
    pub job: JobRequest,
    /// What may be used.
    pub memory: Bytes,
    /// What is looked for.
    pub goal: Goal,
    /// Where the plan is written; without it, beside us under the model's name.
    pub output: Option<PathBuf>,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The fastest plan of the step, with levers that change numbers as far as they are allowed.
    Fastest(Allowed),
    /// The largest batch whose samples are not slower than this share of the time as written.
    LargestBatch {
        /// The share.
        slowdown: f64,
    },
}

impl FitRequest {
    /// Searches, writes the plan and tells the way to it.
    pub fn run(&self) -> Result<FitReport, RequestError> {
        let OpenedJob { job, notes, .. } = self.job.open()?;
        let found = match self.goal {
            Goal::Fastest(allowed) => fit_and_explore(&job, self.memory, allowed)?,
            Goal::LargestBatch { slowdown } if slowdown.is_finite() && slowdown >= 0.0 => {
                let mut found = largest_batch(&job, self.memory, slowdown)?;
                found.explore()?;
                found
            }
            Goal::LargestBatch { slowdown } => return Err(RequestError::Slowdown { slowdown }),
        };
        let path = self.path();
        let model = specification::relative_to(&self.job.model, &path);
        let file = PlanFile::new(&found.prepared, &model, self.memory);
        file.write(&path).map_err(JobError::from)?;
        Ok(FitReport { notes, ..FitReport::of(&found, path) })
    }

    /// Where the plan is written.
    pub fn path(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| usual_path(&self.job.model))
    }
}

/// `resnet50.plan.json` for `resnet50@224` and for `models/resnet50.keras`.
pub(crate) fn usual_path(model: &str) -> PathBuf {
    let name = Path::new(model).file_name().map_or(model.into(), |name| name.to_string_lossy());
    let end = name.find(['@', ',', '.']).unwrap_or(name.len());
    PathBuf::from(format!("{}.plan.json", &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_called_like_their_models() {
        for model in ["resnet50@224", "resnet50,classes=10", "models/resnet50.keras", "resnet50"] {
            assert_eq!(usual_path(model), PathBuf::from("resnet50.plan.json"));
        }
    }
}
