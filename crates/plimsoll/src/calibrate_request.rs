//! Measuring this machine, as it is asked for; what is measured is kept.

use crate::calibrate::{Thoroughness, calibrate};
use crate::reports::CalibrateReport;
use crate::{JobError, ProfileCache, RequestError};

/// A measurement as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CalibrateRequest {
    /// Threads that kernels run on; without it, all of the machine.
    pub threads: Option<usize>,
}

impl CalibrateRequest {
    /// How many threads are measured.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Measures and keeps the profile; asks first whether it can be kept. `progress` hears of ops done, of how many.
    pub fn run(&self, progress: impl FnMut(usize, usize)) -> Result<CalibrateReport, RequestError> {
        let cache = ProfileCache::of_user().ok_or(RequestError::NoCache)?;
        let unwritable =
            |error| RequestError::UnwritableCache { folder: cache.directory().to_path_buf(), error };
        cache.check_writable().map_err(unwritable)?;
        let profile = calibrate(self.threads(), Thoroughness::default(), progress).map_err(JobError::from)?;
        let path = cache.store(&profile).map_err(unwritable)?;
        Ok(CalibrateReport { path, profile })
    }
}
