//! A predicted step in space: where TensorFlow's allocator puts each tensor in one region.

use crate::prediction::Prediction;
use plimsoll_memory::{Address, Allocator, Bfc, BfcOptions, Refusal, Simulated};
use plimsoll_trace::{BlockId, Bytes, Event, Trace};
use std::collections::HashMap;

impl Prediction {
    /// The step with the places that its allocator gives in one region of a limit; nothing if that is too small.
    pub fn placed(&self, limit: Bytes) -> Option<Trace> {
        let mut allocator = Bfc::new(BfcOptions { growth: false, ..BfcOptions::default() });
        let mut trace = self.trace.clone();
        place(&mut trace, &mut allocator, &mut Simulated::new(limit)).ok()?;
        trace.about.limit = Some(limit);
        Some(trace)
    }
}

fn place(trace: &mut Trace, allocator: &mut Bfc, regions: &mut Simulated) -> Result<(), Refusal> {
    let mut addresses: HashMap<BlockId, Address> = HashMap::new();
    for event in &mut trace.events {
        match event {
            Event::Take { block, offset, bytes, label, .. } => {
                let given = allocator.take(*bytes, *label, regions)?.address;
                *offset = given.offset;
                addresses.insert(*block, given);
            }
            Event::Free { block, .. } => {
                let address = addresses.remove(block).expect("the executor frees only what it has taken");
                allocator.free(address, regions).expect("a block that was taken can be freed");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Setup, predict};
    use plimsoll_model::{Mode, zoo};
    use plimsoll_trace::{Bytes, verify};

    #[test]
    fn tensors_have_places_within_the_limit() {
        let graph = zoo::find("cnn@16").unwrap().lower(8, Mode::Training).unwrap();
        let prediction = predict(&graph, &Setup::default());
        let limit = prediction.smallest_limit(false).unwrap();
        let placed = prediction.placed(limit).unwrap();
        verify(&placed).unwrap();
        assert_eq!(placed.events.len(), prediction.trace.events.len());
        assert!(prediction.placed(Bytes(prediction.live_peak().0 / 2)).is_none());
    }
}
