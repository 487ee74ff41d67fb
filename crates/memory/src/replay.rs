//! Replay: the requests of a trace, fed to an allocator that did not see them before.
//!
//! In: requests and an allocator. Out: what it took, where it ran out, and the smallest limit at which it does not.

use crate::{Address, Allocator, Block, Regions, Simulated, Statistics};
use plimsoll_trace::{BlockId, Bytes, Event, LabelId, Trace, TraceError};
use std::collections::HashMap;

/// What limits are multiples of when the smallest is searched: a page.
pub const LIMIT_UNIT: Bytes = Bytes(4096);

/// Feeds the requests to an allocator until they end or it runs out.
pub fn replay<A: Allocator + ?Sized>(
    requests: &Requests,
    allocator: &mut A,
    regions: &mut dyn Regions,
) -> Outcome {
    let mut worst_fragmentation = 0.0f64;
    let shortage = run(requests, allocator, regions, |allocator| {
        worst_fragmentation = worst_fragmentation.max(allocator.statistics().fragmentation());
    });
    let statistics = allocator.statistics();
    Outcome {
        peak_in_use: statistics.peak_in_use,
        peak_reserved: statistics.peak_reserved,
        worst_fragmentation,
        out_of_memory: shortage,
    }
}

/// Goes on from the pool of an allocator in the middle of its work, within a limit: the first requests are its live
/// blocks, a block each, from which the allocator is made. None where they do not fit together. Where regions begin is
/// said of those that are there and of those that may come.
pub fn resume(
    requests: &Requests,
    live: &[Block],
    mut regions: Simulated,
    make: impl FnOnce(&[(Block, LabelId)], &mut Simulated) -> Option<Box<dyn Allocator>>,
) -> Option<Outcome> {
    let mut addresses = vec![None; requests.places()];
    let mut blocks = Vec::with_capacity(live.len());
    for (request, &block) in requests.list.iter().zip(live) {
        let Request::Take { block: place, label, .. } = *request else { return None };
        addresses[place as usize] = Some(block.address);
        blocks.push((block, label));
    }
    let mut allocator = make(&blocks, &mut regions)?;
    let begun = (live.len(), addresses);
    let mut worst_fragmentation = allocator.statistics().fragmentation();
    let shortage = run_from(requests, begun, &mut *allocator, &mut regions, |allocator| {
        worst_fragmentation = worst_fragmentation.max(allocator.statistics().fragmentation());
    });
    let Statistics { peak_in_use, peak_reserved, .. } = allocator.statistics();
    Some(Outcome { peak_in_use, peak_reserved, worst_fragmentation, out_of_memory: shortage })
}

/// A limit at which all requests are met, while they are not with 4096 bytes less; none where no limit helps.
///
/// Found by bisection between the floor and the first power of two times it that is enough. More memory seldom hurts an
/// allocator, but it can, so a smaller limit may exist by accident.
pub fn smallest_limit(requests: &Requests, make: impl Fn() -> Box<dyn Allocator>) -> Option<Bytes> {
    let limit = |units: u64| Bytes(units.saturating_mul(LIMIT_UNIT.0));
    let fits = |units: u64| run(requests, &mut *make(), &mut Simulated::new(limit(units)), |_| ()).is_none();
    let first = requests.floor.0.div_ceil(LIMIT_UNIT.0);
    let (mut enough, mut short) = (first.max(1), None);
    while !fits(enough) {
        // Nothing that begins with a floor needs a thousand times as much; what does is refused for another reason.
        if enough / first.max(1) >= 1 << 10 && enough > 1 << 20 {
            return None;
        }
        short = Some(enough);
        enough = enough.checked_mul(2)?;
    }
    let Some(short) = short else { return Some(limit(if requests.is_empty() { 0 } else { enough })) };
    Some(limit(first_enough(short, enough, fits)))
}

/// By bisection, the first number that is enough, between one that is too small and one that is enough.
pub fn first_enough(short: u64, enough: u64, is_enough: impl Fn(u64) -> bool) -> u64 {
    let (mut short, mut enough) = (short, enough);
    while enough.saturating_sub(short) > 1 {
        let middle = short.midpoint(enough);
        *(if is_enough(middle) { &mut enough } else { &mut short }) = middle;
    }
    enough
}

/// What an allocator made of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The most bytes of live blocks, as the allocator counts them.
    pub peak_in_use: Bytes,
    /// The most bytes of regions.
    pub peak_reserved: Bytes,
    /// The largest share of free bytes that was not in the largest free block.
    pub worst_fragmentation: f64,
    /// Where it ran out, if it did; the requests after that were not made.
    pub out_of_memory: Option<Unmet>,
}

/// A request that was not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// Which of the requests, counted from 0.
    pub event: usize,
    /// What was asked for.
    pub requested: Bytes,
    /// Who it was for.
    pub label: LabelId,
    /// What the limit leaves beside live blocks.
    pub free: Bytes,
    /// The largest free block in the regions.
    pub largest_free: Bytes,
}

/// What is asked of an allocator. A block is called by the number of a place that is its own while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields say it
pub enum Request {
    /// Somebody wants bytes.
    Take { block: u32, bytes: Bytes, label: LabelId },
    /// Somebody is done with a block.
    Free { block: u32 },
}

/// Requests that make sense: only what is live is freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    list: Vec<Request>,
    /// How many places blocks need.
    places: u32,
    floor: Bytes,
}

impl Requests {
    /// The takes and frees of a trace; where they were at the time does not matter.
    pub fn of(trace: &Trace) -> Result<Self, TraceError> {
        let mut builder = Builder::default();
        for (event, what) in trace.events.iter().enumerate() {
            match *what {
                Event::Take { block, bytes, label, .. } => builder.take(event, block, bytes, label)?,
                Event::Free { block, .. } => builder.free(event, block)?,
            }
        }
        Ok(builder.requests)
    }

    /// The requests in order.
    pub fn list(&self) -> &[Request] {
        &self.list
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The most bytes that are wanted at once: no allocator needs less.
    pub fn floor(&self) -> Bytes {
        self.floor
    }

    /// How many blocks are live at most.
    pub fn places(&self) -> usize {
        self.places as usize
    }
}

/// Gives blocks dense numbers.
#[derive(Default)]
struct Builder {
    requests: Requests,
    live: HashMap<BlockId, (u32, Bytes)>,
    vacant: Vec<u32>,
    in_use: u128,
}

impl Builder {
    fn take(&mut self, event: usize, block: BlockId, bytes: Bytes, label: LabelId) -> Result<(), TraceError> {
        let place = self.vacant.pop().unwrap_or(self.requests.places);
        if self.live.insert(block, (place, bytes)).is_some() {
            return Err(TraceError::TakenTwice { event, block });
        }
        self.requests.places = self.requests.places.max(place + 1);
        self.in_use += u128::from(bytes.0);
        let floor = self.in_use.min(u128::from(u64::MAX)) as u64;
        self.requests.floor = self.requests.floor.max(Bytes(floor));
        self.requests.list.push(Request::Take { block: place, bytes, label });
        Ok(())
    }

    fn free(&mut self, event: usize, block: BlockId) -> Result<(), TraceError> {
        let (place, bytes) = self.live.remove(&block).ok_or(TraceError::NotLive { event, block })?;
        self.in_use -= u128::from(bytes.0);
        self.vacant.push(place);
        self.requests.list.push(Request::Free { block: place });
        Ok(())
    }
}

fn run<A: Allocator + ?Sized>(
    requests: &Requests,
    allocator: &mut A,
    regions: &mut dyn Regions,
    after: impl FnMut(&A),
) -> Option<Unmet> {
    run_from(requests, (0, vec![None; requests.places()]), allocator, regions, after)
}

/// Runs the requests after the first ones, which have these addresses.
fn run_from<A: Allocator + ?Sized>(
    requests: &Requests,
    (met, mut addresses): (usize, Vec<Option<Address>>),
    allocator: &mut A,
    regions: &mut dyn Regions,
    mut after: impl FnMut(&A),
) -> Option<Unmet> {
    for (event, request) in requests.list.iter().enumerate().skip(met) {
        match *request {
            Request::Take { block, bytes, label } => match allocator.take(bytes, label, regions) {
                Ok(taken) => addresses[block as usize] = Some(taken.address),
                Err(refusal) => {
                    let free = regions.limit().saturating_sub(allocator.statistics().in_use);
                    let largest_free = refusal.largest_free;
                    return Some(Unmet { event, requested: bytes, label, free, largest_free });
                }
            },
            Request::Free { block } => {
                let address = addresses[block as usize].take().expect("only what is live is freed");
                allocator.free(address, regions).expect("the allocator knows what it gave");
            }
        }
        after(allocator);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ALLOCATOR_NAMES, AllocatorOptions, by_name};
    use plimsoll_trace::{Offset, Time};
    use proptest::prelude::*;

    /// Takes (bytes) and frees (none) of the oldest block.
    fn requests(steps: &[Option<u64>]) -> Requests {
        let mut trace = Trace::default();
        let mut live = std::collections::VecDeque::new();
        for (number, step) in steps.iter().enumerate() {
            let (time, block) = (Time(number as u32), BlockId(number as u32));
            if let Some(bytes) = step {
                live.push_back(block);
                let (bytes, label) = (Bytes(*bytes), LabelId(0));
                trace.events.push(Event::Take { time, block, offset: Offset::START, bytes, label });
            } else if let Some(block) = live.pop_front() {
                trace.events.push(Event::Free { time, block });
            }
        }
        Requests::of(&trace).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_smallest_limit_is_enough_and_a_page_less_is_not(
            steps in proptest::collection::vec(prop::option::weighted(0.6, 0u64..4 << 20), 1..60),
        ) {
            let requests = requests(&steps);
            for name in ALLOCATOR_NAMES {
                let make = || by_name(name, &AllocatorOptions::default()).unwrap();
                let limit = smallest_limit(&requests, make).unwrap();
                prop_assert!(limit >= requests.floor());
                let at = |limit| replay(&requests, &mut *make(), &mut Simulated::new(limit));
                let enough = at(limit);
                prop_assert_eq!(enough.out_of_memory, None, "{}", name);
                prop_assert!(enough.peak_in_use >= requests.floor() && enough.peak_reserved <= limit);
                if limit.saturating_sub(LIMIT_UNIT) >= requests.floor() && !requests.is_empty() {
                    prop_assert!(at(limit.saturating_sub(LIMIT_UNIT)).out_of_memory.is_some(), "{}", name);
                }
            }
        }
    }

    #[test]
    fn running_out_carries_its_evidence() {
        let requests = requests(&[Some(1 << 20), Some(600 << 10), None, Some(1500 << 10)]);
        let outcome = replay(
            &requests,
            &mut *by_name("bfc", &AllocatorOptions::default()).unwrap(),
            &mut Simulated::new(Bytes::mib(2)),
        );
        let shortage = outcome.out_of_memory.unwrap();
        assert_eq!((shortage.event, shortage.requested), (3, Bytes(1500 << 10)));
        // The second block got the whole second MiB: less than twice what it asked for.
        assert_eq!((shortage.free, shortage.largest_free), (Bytes::mib(1), Bytes::mib(1)));
        assert_eq!((outcome.peak_in_use, outcome.peak_reserved), (Bytes::mib(2), Bytes::mib(2)));
    }

    #[test]
    fn requests_must_make_sense() {
        let take = |block| Event::Take {
            time: Time(0),
            block: BlockId(block),
            offset: Offset(0),
            bytes: Bytes(1),
            label: LabelId(0),
        };
        let free = |block| Event::Free { time: Time(0), block: BlockId(block) };
        let of = |events: Vec<Event>| Requests::of(&Trace { events, ..Trace::default() }).unwrap_err();
        assert_eq!(of(vec![take(1), take(1)]), TraceError::TakenTwice { event: 1, block: BlockId(1) });
        assert_eq!(of(vec![take(1), free(1), free(1)]), TraceError::NotLive { event: 2, block: BlockId(1) });
    }
}
