//! What a run promises to take of the host, so that others which are planned meanwhile leave it alone.

use crate::{Bytes, RequestError};
use plimsoll_memory::{HostMemory, Promised, Registry};

/// Promises to take so much for something. Where nobody said how much may be taken, what others have promised counts:
/// they may have done so since the limit was found.
pub(crate) fn promise(who: &str, peak: Bytes, is_automatic: bool) -> Result<Option<Promised>, RequestError> {
    let Some(registry) = Registry::of_user() else { return Ok(None) };
    registry.promise(who, peak, || if is_automatic { admit(peak) } else { Ok(()) })
}

fn admit(peak: Bytes) -> Result<(), RequestError> {
    let memory = HostMemory::read();
    let (promised, left) = (memory.promised, memory.automatic_limit().unwrap_or(peak));
    match promised > Bytes::ZERO && peak > left {
        true => Err(RequestError::Promised { peak, promised, left }),
        false => Ok(()),
    }
}
