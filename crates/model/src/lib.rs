//! Models: layers and the zoo.
//!
//! In: layers put together with a [`Builder`], read by an importer, or named from the [`zoo`].
//! Out: a [`Model`], plain data, which [`Model::lower`] turns into a `Graph` at a batch size.
//! Invariant: names, shapes and starting values of parameters are those that Keras gives them, so
//! weights and measurements can be compared one to one.
//!
//! ```
//! use plimsoll_model::layer::{Conv2d, Dense, Flatten, Pooling2d};
//! use plimsoll_model::{Builder, Mode};
//!
//! let mut net = Builder::new("digits");
//! let x = net.input([8, 8, 1]);
//! let x = net.add("conv", Conv2d::new(32, 3).relu(), &[x]);
//! let x = net.add("pool", Pooling2d::max(2), &[x]);
//! let x = net.add("flatten", Flatten {}, &[x]);
//! let x = net.add("predictions", Dense::new(10).softmax(), &[x]);
//! let model = net.build(x);
//!
//! let graph = model.lower(16, Mode::Training)?;
//! let predictions = graph.tensor(graph.outputs()[0]);
//! assert_eq!(predictions.to_string(), "f32[16,10]");
//! assert!(graph.find("conv/kernel").is_some());
//! # Ok::<(), plimsoll_model::ModelError>(())
//! ```

mod builder;
mod initializer;
pub mod layer;
mod lower;
mod model;
mod penalty;
mod run_order;
pub mod zoo;

pub use builder::Builder;
pub use initializer::{Distribution, Fan, Initializer};
pub use layer::Layer;
pub use lower::{Mode, ModelError};
pub use model::{InputSpec, Model, Node, NodeRef, OutputSpec};
pub use penalty::{Penalized, Penalty, Regularizer};
