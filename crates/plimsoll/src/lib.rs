//! Plimsoll trains deep-learning models inside a memory budget given in bytes.
//!
//! This is the Rust door. A [`Job`] says what to train; [`Job::prepare`] plans it, so that its peak is known; a
//! [`Trainer`] runs it, and its measured peak is the planned one, to the byte.
//!
//! ```
//! use plimsoll::model::zoo;
//! use plimsoll::{Bytes, Job};
//!
//! let prepared = Job::new(zoo::find("mlp@64")?, 32).prepare()?;
//! assert!(prepared.plan().peak < Bytes::mib(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accuracy;
pub mod calibrate;
mod calibrate_request;
mod change;
pub mod data;
mod data_request;
mod device_request;
mod eager_trainer;
mod engine;
mod evidence;
mod exchange;
#[cfg(feature = "report")]
mod exhibit;
#[cfg(feature = "report")]
pub mod findings;
mod fit;
mod fit_request;
mod headline;
pub mod hint;
pub mod identify;
pub mod imported;
mod init;
mod job;
mod job_request;
mod lanes;
mod lengths;
mod micro_batches;
mod note;
mod over_budget;
mod place_request;
mod plan_file;
mod planning;
mod prepared;
mod profile_cache;
mod promise;
pub mod recording;
pub mod replay;
pub mod reports;
mod request_error;
mod run_files;
mod scores;
mod script_request;
#[cfg(feature = "report")]
mod show_request;
pub mod specification;
mod train_request;
mod trainer;
mod training_run;
mod watch;

pub use calibrate_request::CalibrateRequest;
pub use data_request::DataRequest;
pub use device_request::{DeviceRequest, PartRequest};
pub use eager_trainer::{EagerOptions, EagerTrainer, OnShortage, PoolUse};
pub use exchange::{Exchange, Values};
pub use fit::{Fit, Point, Stage, fit, fit_and_explore, largest_batch};
pub use fit_request::{FitRequest, Goal};
pub use hint::Hint;
pub use job::{Job, JobError, OnNan};
pub use job_request::{JobRequest, MOST_THREADS, OpenedJob};
pub use micro_batches::MOST_MICRO_BATCHES;
pub use note::Note;
pub use over_budget::{Outlook, OverBudget};
pub use place_request::{PlaceRequest, Placed, Space};
pub use plan_file::{LARGEST_PLAN, PlanFile, PlanFileError, SavedPlan};
pub use prepared::{Evaluation, MicroBatch, Prepared, Updates};
pub use profile_cache::{ProfileCache, StaleProfile, cached_profile};
pub use request_error::RequestError;
pub use scores::{HeadScore, Scores};
pub use script_request::ScriptRequest;
#[cfg(feature = "report")]
pub use show_request::{LARGEST_PIPED, ShowError, ShowRequest, Shown};
pub use train_request::{EagerRequest, MemoryUse, RunLength, StepSource, TrainRequest, USUAL_ALLOCATOR};
pub use trainer::{Outcome, Progress, Run, Trainer};
pub use training_run::{Happening, TrainingRun};
pub use watch::Watch;

pub use plimsoll_exec as exec;
pub use plimsoll_graph as graph;
pub use plimsoll_import as import;
pub use plimsoll_input as input;
pub use plimsoll_memory as memory;
pub use plimsoll_model as model;
pub use plimsoll_plan as plan;
#[cfg(feature = "report")]
pub use plimsoll_report as report;
pub use plimsoll_state as state;
pub use plimsoll_tensorflow as tensorflow;
pub use plimsoll_trace as trace;
pub use plimsoll_trace::Bytes;
pub use plimsoll_train as train;
pub use plimsoll_train::{Allowed, Change, Lever};
