//! How well a prediction is known: between which bounds the live peak lies, and what widens them.

use crate::setup::{Mode, Setup};
use plimsoll_trace::Bytes;
use serde::Serialize;

/// The share of measured steps whose live peak lies between the bounds, in per cent. A test computes it.
pub const COVERAGE: u32 = 95;

/// What is added to the bounds, which are those of the orders that the executor may take, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Margins {
    below: u64,
    above: u64,
    /// What is kept in hand above a predicted limit: measured limits were up to 4.5 % above.
    in_hand: u64,
}

/// In graphs of float32, of which most is known; elsewhere; where parts are computed again, which saves little or much
/// by an order that is not known; with loops, whose zeros and sums come in several orders; where layers are not known;
/// and with convolutions over volumes or over images in
/// time, which are other kernels in TensorFlow than in our graphs (3D: predicted up to 6 times too high; `ConvLSTM2D`:
/// up to 36 % too low).
const KNOWN: Margins = Margins { below: 15, above: 9, in_hand: 10 };
const LESS_KNOWN: Margins = Margins { below: 18, above: 12, in_hand: 16 };
const AGAIN: Margins = Margins { below: 50, above: 12, in_hand: 16 };
const LOOPS: Margins = Margins { below: 30, above: 18, in_hand: 14 };
const UNKNOWN: Margins = Margins { below: 30, above: 25, in_hand: 25 };
const VOLUMES: Margins = Margins { below: 90, above: 60, in_hand: 60 };

/// How well the layers of a model are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Layers about which rules know nothing, by name.
    pub unsure: Vec<String>,
    /// Whether it has recurrent layers.
    pub loops: bool,
    /// Whether it has convolutions over more than an image.
    pub volumes: bool,
}

/// The live peak, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// Where the executor takes the cheapest order.
    pub low: Bytes,
    /// The most of the orders that measured steps have taken.
    pub likely: Bytes,
    /// Where it takes the dearest.
    pub high: Bytes,
    /// Layers for which no trace says how TensorFlow computes them; they make the band wide.
    pub unsure: Vec<String>,
    #[serde(skip)]
    margins: Margins,
}

impl Band {
    /// Around what the orders take; `likely` is among them.
    pub fn around(peaks: &[Bytes], likely: Bytes, setup: &Setup, evidence: Evidence) -> Self {
        let Evidence { unsure, loops, volumes } = evidence;
        let margins = match () {
            () if volumes => VOLUMES,
            () if !unsure.is_empty() => UNKNOWN,
            () if loops => LOOPS,
            () if setup.recompute > 0 => AGAIN,
            () if setup.mode == Mode::Eager || setup.precision.is_mixed() => LESS_KNOWN,
            () => KNOWN,
        };
        let low = peaks.iter().copied().min().unwrap_or(likely).0;
        let high = peaks.iter().copied().max().unwrap_or(likely).0;
        let (low, high) = (low - share(low, margins.below), high + share(high, margins.above));
        Self { low: Bytes(low), likely, high: Bytes(high), unsure, margins }
    }

    /// What is kept in hand above a limit.
    pub fn in_hand(&self, limit: Bytes) -> Bytes {
        Bytes(share(limit.0, self.margins.in_hand))
    }
}

/// So many per cent.
pub fn share(bytes: u64, percent: u64) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}
