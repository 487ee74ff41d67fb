//! How fast this machine is.

use plimsoll_plan::Profile;
use serde::Serialize;
use std::path::PathBuf;

/// How fast this machine is, and where that is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrateReport {
    /// The file.
    pub path: PathBuf,
    /// What each class of ops costs.
    pub profile: Profile,
}
