//! Evidence: memory that was asked for and could not be had, as a document.
//!
//! A device, an allocator and the search for a plan all refuse in this one form. A failure as JSON contains it, a
//! captured log has it as one line that begins with [`MARK`], and both are read back by [`Evidence::parse`]. Names are
//! data here: whatever a layer is called, it cannot be taken for a figure.

use crate::{Bytes, Label};
use serde::{Deserialize, Serialize};

/// How evidence begins in a line of a log.
pub const MARK: &str = "{\"plimsoll_evidence\":";

/// The version of the form that is written.
pub const VERSION: u32 = 1;

/// Memory that was asked for and could not be had.
///
/// Equations: `requested > 0`; `in_use <= reserved` of an allocator; no figure reaches 2^60, and all holders together
/// do not either.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The version of this form; it stands first, so that a line is recognised by it.
    #[serde(rename = "plimsoll_evidence")]
    pub version: u32,
    /// The step in which it happened; none where none had begun.
    pub step: Option<u64>,
    /// The device, where there was one already.
    pub device: Option<String>,
    /// Who asked.
    pub asked_by: Label,
    /// For how much.
    #[serde(rename = "requested_bytes")]
    pub requested: Bytes,
    /// What may be held in all.
    #[serde(rename = "limit_bytes")]
    pub limit: Bytes,
    /// Who refused, and what they know.
    pub refused_by: RefusedBy,
    /// Who holds what, all of them, largest first.
    pub holders: Vec<Holder>,
}

/// Who refused, and what they know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBy {
    /// A device: its limit was reached, or the operating system had no more.
    Device {
        /// What the operating system said, if it was not the limit that refused.
        system: Option<String>,
    },
    /// An allocator that cuts blocks from regions.
    Allocator {
        /// Its name.
        name: String,
        /// What its regions have.
        #[serde(rename = "reserved_bytes")]
        reserved: Bytes,
        /// What live blocks have.
        #[serde(rename = "in_use_bytes")]
        in_use: Bytes,
        /// The largest block that could be had: inside a region, or as a new one.
        #[serde(rename = "largest_free_bytes")]
        largest_free: Bytes,
    },
    /// The search for a plan within a budget, before anything ran; the request is the smallest plan that was found.
    Budget {
        /// The most bytes live at once in that plan.
        #[serde(rename = "floor_bytes")]
        floor: Bytes,
        /// What no plan for this batch can do without.
        #[serde(rename = "least_bytes")]
        least: Bytes,
    },
}

/// Somebody who holds memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Who it is.
    #[serde(flatten)]
    pub label: Label,
    /// How much they hold.
    pub bytes: Bytes,
}

/// Evidence that cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum EvidenceError {
    #[error("it is not whole: {0}")]
    Broken(#[from] serde_json::Error),
    #[error("it has version {0}, this program reads {VERSION}")]
    Version(u32),
    #[error("its figures make no sense")]
    Absurd,
}

impl Evidence {
    /// As one line of text, without its end.
    pub fn print(&self) -> String {
        serde_json::to_string(self).expect("evidence is plain data")
    }

    /// Reads what `print` wrote.
    pub fn parse(text: &[u8]) -> Result<Self, EvidenceError> {
        let Header { version } = serde_json::from_slice(text)?;
        if version != VERSION {
            return Err(EvidenceError::Version(version));
        }
        let evidence: Self = serde_json::from_slice(text)?;
        if evidence.is_sound() { Ok(evidence) } else { Err(EvidenceError::Absurd) }
    }

    /// What all holders have together.
    pub fn held(&self) -> Bytes {
        Bytes(self.holders.iter().fold(0, |sum, holder| holder.bytes.0.saturating_add(sum)))
    }

    fn is_sound(&self) -> bool {
        let more = match &self.refused_by {
            RefusedBy::Device { .. } => vec![],
            RefusedBy::Allocator { reserved, in_use, largest_free, .. } => {
                vec![*reserved, *in_use, *largest_free]
            }
            RefusedBy::Budget { floor, least } => vec![*floor, *least],
        };
        let figures = [self.requested, self.limit, self.held()];
        if matches!(self.refused_by, RefusedBy::Allocator { reserved, in_use, .. } if in_use > reserved) {
            return false;
        }
        self.requested > Bytes::ZERO && figures.into_iter().chain(more).all(|figure| figure.0 < MOST)
    }
}

impl Label {
    /// Who it is, in words, such as ``conv2d of layer `conv1` (for `conv1/conv2d`)``.
    pub fn words(&self) -> String {
        match (self.op.as_str(), self.layer.as_str(), self.value.as_str()) {
            ("", _, value) => format!("`{value}`"),
            (op, "", "") => op.to_string(),
            (op, "", value) => format!("{op} (for `{value}`)"),
            (op, layer, "") => format!("{op} of layer `{layer}`"),
            (op, layer, value) => format!("{op} of layer `{layer}` (for `{value}`)"),
        }
    }
}

/// What no figure reaches: sums of a few stay far below 64 bits.
const MOST: u64 = 1 << 60;

/// What is looked at before anything else.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "plimsoll_evidence")]
    version: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        let asked_by = Label { op: "conv2d".to_string(), layer: "\"a\nb".to_string(), ..Label::default() };
        let holder = Holder { label: Label { value: "w".to_string(), ..Label::default() }, bytes: Bytes(7) };
        Evidence {
            version: VERSION,
            step: Some(1),
            device: Some("host".to_string()),
            asked_by,
            requested: Bytes(5),
            limit: Bytes(8),
            refused_by: RefusedBy::Budget { floor: Bytes(5), least: Bytes(4) },
            holders: vec![holder],
        }
    }

    #[test]
    fn what_is_printed_is_one_line_that_is_read_back() {
        let printed = evidence().print();
        assert!(printed.starts_with(MARK) && !printed.contains('\n'), "{printed}");
        assert_eq!(Evidence::parse(printed.as_bytes()).unwrap(), evidence());
    }

    #[test]
    fn other_versions_and_absurd_figures_are_refused() {
        let newer = Evidence { version: VERSION + 1, ..evidence() }.print();
        assert!(matches!(Evidence::parse(newer.as_bytes()), Err(EvidenceError::Version(_))));
        for requested in [0, 1 << 60, u64::MAX] {
            let absurd = Evidence { requested: Bytes(requested), ..evidence() }.print();
            assert!(matches!(Evidence::parse(absurd.as_bytes()), Err(EvidenceError::Absurd)));
        }
        let allocator = |in_use: u64| RefusedBy::Allocator {
            name: "bfc".to_string(),
            reserved: Bytes(8),
            in_use: Bytes(in_use),
            largest_free: Bytes(1),
        };
        let fuller = |in_use: u64| Evidence { refused_by: allocator(in_use), ..evidence() }.print();
        assert!(Evidence::parse(fuller(8).as_bytes()).is_ok());
        assert!(matches!(Evidence::parse(fuller(9).as_bytes()), Err(EvidenceError::Absurd)));
        let printed = evidence().print();
        for end in 0..printed.len() {
            assert!(Evidence::parse(&printed.as_bytes()[..end]).is_err());
        }
    }
}
