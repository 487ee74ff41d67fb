//! Out of memory, with everything one needs to understand it.

use plimsoll_trace::Bytes;

/// A request that a device could not meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{device} is out of memory: {who} asked for {requested}, but of its {limit} only {} are free",
    self.free()
)]
pub struct OutOfMemory {
    /// The device's name.
    pub device: String,
    /// Who asked.
    pub who: String,
    /// For how much.
    pub requested: Bytes,
    /// What the device may hold in all.
    pub limit: Bytes,
    /// Who holds what.
    pub holders: Vec<Holder>,
    /// What the operating system said, if it was not the limit that refused.
    pub system: Option<String>,
}

/// Somebody who holds memory of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Who it is.
    pub who: String,
    /// How much they hold.
    pub bytes: Bytes,
}

impl OutOfMemory {
    /// What the limit leaves.
    pub fn free(&self) -> Bytes {
        self.limit.saturating_sub(self.holders.iter().map(|holder| holder.bytes).sum())
    }

    /// What would help, in a sentence.
    pub fn hint(&self) -> String {
        let missing = self.requested.saturating_sub(self.free());
        match &self.system {
            Some(said) => format!("the operating system refused: {said}"),
            None => format!("{missing} more, or a plan that needs {missing} less, would do"),
        }
    }
}
