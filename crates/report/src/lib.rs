//! Findings about memory, and how they are shown: as text for a terminal, as JSON, as one self-contained HTML file.
//! Does no I/O.

pub mod chart;
pub mod diagnosis;
pub mod exhibit;
pub mod export;
pub mod json;
pub mod page;
pub mod size;
mod style;
pub mod table;
pub mod terminal;

pub use exhibit::Exhibit;
