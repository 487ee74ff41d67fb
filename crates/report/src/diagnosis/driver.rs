//! A driver that had no more, and copies that found no room: what it means and what would help.

use super::code::{self, Code};
use super::findings::{Finding, Reason};
use super::remedies::Remedy;
use crate::size::print;
use plimsoll_import::oomlog::Dump;

/// What a driver's refusal is about.
pub(super) fn refused(dump: &Dump, said: &str) -> Finding {
    let request = dump.request.map(|request| request.bytes);
    let too_big = request.zip(dump.capacity).filter(|(request, capacity)| *request > capacity.bytes);
    let (reason, text) = match too_big {
        Some((_, capacity)) => (Reason::TooBig, format!("the device has {} in all", print(capacity.bytes))),
        None => (
            Reason::Others,
            format!(
                "the driver said: {said}; it was asked itself, so what the device has is taken: by other processes, by a run that \
                 has not ended, or by this program outside of its pool"
            ),
        ),
    };
    Finding { reason, bytes: request.unwrap_or(0), decisive: true, text, window: None }
}

/// What a copy that found no room is about.
pub(super) fn copied(dump: &Dump) -> Finding {
    let whole = match dump.op.as_deref() {
        Some("_EagerConst") => {
            "; `_EagerConst` turns an array of the host into one tensor on the device: often a whole data set at once"
        }
        _ => "",
    };
    let text = format!(
        "\"Dst tensor is not initialized\" means that memory on the device for a tensor from the host could not be had{whole}"
    );
    Finding { reason: Reason::Copy, bytes: 0, decisive: true, text, window: None }
}

/// What happened, in a line.
pub(super) fn happened(dump: &Dump, copy: bool) -> String {
    let times = if dump.repeated > 1 { format!(" ({} messages)", dump.repeated) } else { String::new() };
    let what = if copy { "a copy to the device" } else { "the driver of the device" };
    match (dump.request, dump.op.as_deref()) {
        (Some(request), _) => {
            format!("{what} was asked for {} and had no room{times}.", print(request.bytes))
        }
        (None, Some(op)) => format!("{what} for {op} had no room{times}; the log does not say for how much."),
        (None, None) => format!("{what} had no room{times}; the log does not say for how much."),
    }
}

/// What would help where a copy failed, then what helps against any full device.
pub(super) fn remedies(dump: &Dump, copy: bool) -> Vec<Remedy> {
    let stream = copy.then(|| {
        remedy(
            "data_in_batches",
            "data that stays on the host",
            "a data set that is given as one array is copied whole; batches that are cut on the host are copied one by one",
            code::batches_from_host().into(),
        )
    });
    let others = remedy(
        "others",
        "the memory that others hold",
        "look who is on the device; notebooks and runs that died badly keep their memory until their process ends",
        code::others(dump.source).into(),
    );
    let growth = remedy(
        "growth",
        "a pool that grows",
        "TensorFlow takes the whole device when it starts unless it is told to grow; then several programs fit beside each other",
        code::growth(dump.source).into(),
    );
    stream.into_iter().chain([others, growth]).collect()
}

fn remedy(key: &'static str, title: &str, text: &str, code: Code) -> Remedy {
    Remedy { key, title: title.to_string(), enough: None, largest_block: None, text: text.to_string(), code }
}
