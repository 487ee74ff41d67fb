//! Foreign models and weights become `Model`s, foreign logs and traces become `Trace`s. Nothing here panics, whatever
//! the bytes.

pub mod bfctrace;
pub mod evidence;
mod gzip;
#[cfg(feature = "hdf5")]
mod hdf5;
mod hole;
// Without HDF5 nobody asks for some of what a configuration says.
#[cfg_attr(not(feature = "hdf5"), allow(dead_code))]
pub mod keras;
pub mod oomlog;
pub mod pickle;
mod protobuf;
pub mod recorded;
pub mod recording;
pub mod snapshot;
pub mod xplane;
