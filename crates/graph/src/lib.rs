//! The Graph document: what is computed.
//!
//! In: layers, importers and `train` add values and ops through [`Graph`].
//! Out: one plain-data document with a text form that round-trips ([`text`]) and a
//! verifier ([`verify`]) that is shorter than the code that builds graphs.
//! Invariant: ops stand in an order in which every value is produced before it is read.
//!
//! This crate knows shapes and element types but no bytes: how large a value is, where it
//! lives and when it dies is the business of `plan`.

mod cheap_list;
mod element;
mod graph;
pub mod op;
pub mod philox;
mod prune;
mod role;
pub mod samples;
mod shape;

pub mod text;
mod value;
mod verify;

pub use element::ElementType;
pub use graph::{Beside, Graph, LayerId, Site};
pub use op::{Op, OpId, OpKind, Phase};
pub use prune::prune;
pub use role::Role;
pub use shape::{Shape, ShapeError, TensorType};
pub use value::{Init, Source, Value, ValueId};
pub use verify::{GraphError, verify};
