//! Foreign models and weights become `Model`s, foreign logs and traces become `Trace`s. Nothing here panics, whatever
//! the bytes.

pub mod bfctrace;
pub mod evidence;
mod gzip;
mod hdf5;
mod hole;
pub mod keras;
pub mod oomlog;
pub mod pickle;
mod protobuf;
pub mod recording;
pub mod snapshot;
pub mod xplane;
