//! What can be reported, as data: each report is a plain struct whose serialization is its one JSON form. A door prints
//! it as text.
//!
//! Sizes are whole numbers of bytes under keys that end in `_bytes`, shares are numbers from 0 to 1, times are seconds.

mod calibrate;
mod data;
mod devices;
mod failure;
mod fit;
mod input;
mod inspect;
mod place;
mod prediction;
mod recipe;
mod replay;
mod train;
mod zoo;

pub use calibrate::CalibrateReport;
pub use data::{ColumnReport, DataReport, RateReport};
pub use devices::{DeviceReport, DevicesReport, HostReport, RunReport};
pub use failure::FailureReport;
pub use fit::{AdviceReport, FitReport, PointReport, StageReport};
pub use input::InputReport;
pub use inspect::{HoldingReport, InspectReport, LayerReport, LeverReport, MomentReport, by_role};
pub use place::{PagesReport, PlaceReport, SpotReport};
pub use prediction::{ForeignLayerReport, PredictRequest, PredictionReport, TensorReport};
pub use recipe::{AdvisedReport, RecipeGoal, RecipeReport, RecipeRequest, TrialReport};
pub use replay::{RanOut, RecordedRow, ReplayReport, ReplayRow};
pub use train::TrainReport;
pub use zoo::{ZooModelReport, ZooReport};
