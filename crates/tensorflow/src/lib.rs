//! What TensorFlow would do with a model.
//!
//! In: the forward graph of a model and a [`Setup`]. Out: a [`Prediction`]: the trace of one training step as
//! TensorFlow would run it, the peak that it would report and the smallest limit that it would need. How TensorFlow
//! behaves is a table of rules in `rules/`, one for each op, each with its evidence from a recorded run; the order of
//! kernels is that of TensorFlow's executor on one thread.
//!
//! ```
//! use plimsoll_model::{Mode, zoo};
//! use plimsoll_tensorflow::{Setup, predict};
//!
//! let graph = zoo::find("cnn@32")?.lower(128, Mode::Training)?;
//! let prediction = predict(&graph, &Setup::default());
//! // TensorFlow 2.21 takes 45.1 MiB.
//! assert_eq!(prediction.live_peak().0 >> 20, 45);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod band;
mod elsewhere;
mod executor;
mod limit;
mod lowering;
mod optimizer;
mod pass;
mod placed;
mod prediction;
mod program;
mod recipe;
mod recompute;
mod rules;
mod script;
mod search;
mod setup;
mod unrolled;
mod variant;
mod wide;

pub use band::{Band, COVERAGE};
pub use elsewhere::{ELSEWHERE, Elsewhere};
pub use plimsoll_train::Precision;
pub use prediction::{CUDA_CONTEXT, CUDNN_WORKSPACE, Prediction, predict};
pub use recipe::{Needs, Recipe, RecipeError, RecipeFile};
pub use script::{ScriptError, script};
pub use search::{Advice, Search, Trial, largest_batch, search};
pub use setup::{Device, Mode, Setup};
