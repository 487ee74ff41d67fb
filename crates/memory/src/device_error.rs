//! Why a device cannot be had as it was asked for.

use crate::{OutOfMemory, Reservation, Share};
use plimsoll_trace::Bytes;

/// A device that does not exist, or a limit it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No such device.
    #[error("there is no device `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Two devices of one name.
    #[error("there are two devices called `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A device that could hold nothing.
    #[error("{name} cannot have a limit of 0 bytes")]
    Empty {
        /// The logical device.
        name: String,
    },
    /// The limits would come to more than the physical device has.
    #[error(
        "{} cannot have {}: of the {capacity} of {physical}, {} are assigned",
        .wanted.name, .wanted.limit, assigned(.shares)
    )]
    TooMuch {
        /// The physical device.
        physical: String,
        /// What it has.
        capacity: Bytes,
        /// Who has a claim to what of it.
        shares: Vec<Share>,
        /// What was asked for.
        wanted: Share,
    },
    /// A limit below what the device holds.
    #[error("{device} cannot shrink to {limit}: it holds {in_use}")]
    Held {
        /// The logical device.
        device: String,
        /// What was asked for.
        limit: Bytes,
        /// What it holds.
        in_use: Bytes,
        /// Who holds what.
        holders: Vec<Reservation>,
    },
    /// The limit could not be reserved at once.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

impl DeviceError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { known, .. } if known.is_empty() => Some("no device is visible".to_string()),
            Self::Unknown { known, .. } => Some(format!("the devices are {}", known.join(", "))),
            Self::Duplicate { .. } => Some("give each device a name of its own".to_string()),
            Self::Empty { .. } => Some("write a size such as 512MiB".to_string()),
            Self::TooMuch { capacity, shares, .. } => {
                Some(format!("{} are left", capacity.saturating_sub(assigned(shares))))
            }
            Self::Held { in_use, holders, .. } => {
                let list: Vec<String> =
                    holders.iter().map(|holder| format!("{} ({})", holder.who, holder.bytes)).collect();
                Some(format!("{in_use} is the least until one of these is dropped: {}", list.join(", ")))
            }
            Self::OutOfMemory(refused) => Some(refused.hint()),
        }
    }
}

fn assigned(shares: &[Share]) -> Bytes {
    shares.iter().map(|share| share.limit).sum()
}
