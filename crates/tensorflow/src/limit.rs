//! What TensorFlow's allocator makes of a predicted trace: the peak it reports and the smallest limit that works.

use crate::setup::Device;
use plimsoll_graph::Role;
use plimsoll_memory::replay::{Requests, replay, smallest_limit};
use plimsoll_memory::{Allocator, Bfc, BfcOptions, Simulated};
use plimsoll_trace::{BlockId, Bytes, Event, Label, Offset, Time, Trace};

/// The unit in which TensorFlow takes limits.
const MIB: u64 = 1 << 20;

/// The most bytes of chunks in use when nothing limits the allocator.
pub fn reported_peak(trace: &Trace, device: Device, growth: bool) -> Bytes {
    let requests = requests(trace);
    let plenty = Bytes(requests.floor().0.saturating_mul(4).max(64 * MIB));
    replay(&requests, &mut *allocator(device, growth), &mut Simulated::new(plenty)).peak_in_use
}

/// The smallest limit in whole MiB at which all steps run.
pub fn smallest(trace: &Trace, device: Device, growth: bool) -> Option<Bytes> {
    let limit = smallest_limit(&requests(trace), || allocator(device, growth))?;
    Some(Bytes(limit.0.div_ceil(MIB) * MIB))
}

/// Whether all steps run within a limit.
pub fn is_enough(trace: &Trace, device: Device, growth: bool, limit: Bytes) -> bool {
    let outcome = replay(&requests(trace), &mut *allocator(device, growth), &mut Simulated::new(limit));
    outcome.out_of_memory.is_none()
}

/// Something that is held from before the step.
pub fn hold(trace: &mut Trace, what: &str, bytes: Bytes) {
    let role = Role::OptimizerState.name().to_string();
    let label = trace.add_label(Label { value: what.to_string(), role, ..Label::default() });
    let block = BlockId(u32::MAX);
    trace.events.insert(0, Event::Take { time: Time(0), block, offset: Offset(0), bytes, label });
}

fn allocator(device: Device, growth: bool) -> Box<dyn Allocator> {
    let options = match device {
        Device::Cpu => BfcOptions::default(),
        Device::Gpu => BfcOptions::gpu(),
    };
    Box::new(Bfc::new(BfcOptions { growth, ..options }))
}

fn requests(trace: &Trace) -> Requests {
    Requests::of(trace).expect("the executor frees only what it has taken")
}
