//! Samples from files, ready when they are wanted, within a number of bytes.
//!
//! In: a path, or a [`Source`] of one's own. Out: [`Samples`], written straight to where they are needed, while
//! others are read and decoded ahead of time. It knows nothing of training.
//!
//! Three decisions carry it:
//! - Every source has its samples by number. What has none by nature (a table of rows, a file of records) gets an index
//!   of bounded size. So shuffling needs no buffer, a position is one number, and going on replays nothing.
//! - A worker takes a sample through all stages: read, decode, resize, write. There are no queues between stages, so
//!   nothing is to be tuned between them, and one figure of bytes bounds all.
//! - Every byte that grows with the data is entered in one [`Account`] before it is allocated.

mod account;
mod augment;
mod blob;
mod error;
mod field;
mod found;
pub mod image;
mod open;
pub mod order;
mod pixels;
mod prefetch;
mod reading;
mod room;
mod samples;
mod settings;
mod skip;
pub mod source;
mod split;
mod tokens;

pub use account::{Account, Shortage, Taken};
pub use augment::Augment;
pub use blob::Blob;
pub use error::InputError;
pub use field::{Elements, Field, FieldKind};
pub use found::{ClassCount, Found};
pub use open::open;
pub use pixels::{PixelRange, Pixels};
pub use prefetch::{Needs, Prefetched, Rates};
pub use reading::{Reading, Want};
pub use room::{Room, Stage};
pub use samples::Samples;
pub use settings::{Missing, OnBadSample, Settings};
pub use skip::without_bad_samples;
pub use source::{Column, Content, Datum, Number, Source};
pub use split::{Part, split};
pub use tokens::Tokens;
