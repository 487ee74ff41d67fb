//! Traces for other tools: Perfetto and Chrome, TensorBoard, spreadsheets. Each export is a function from a trace to
//! bytes.
//!
//! A trace counts time in ops. Where it has clocks, exports that want seconds spread the ops between two clocks evenly;
//! where it has none, an op counts as a microsecond. Steps that are the same as earlier ones are written out again,
//! until there are a million events.

pub mod csv;
mod lives;
pub mod perfetto;
pub mod tensorboard;
mod unrolled;

/// Where the sum over all roles stands.
const TOTAL: &str = "live";

/// The name of a role where a trace has none.
const NO_ROLE: &str = "unknown";
