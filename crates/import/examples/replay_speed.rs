//! How fast allocators are: a recorded trace of TensorFlow, then synthetic ones with more and more live blocks.
//!
//! `cargo run --release -p plimsoll-import --example replay_speed [TRACE]`

use plimsoll_import::recording;
use plimsoll_memory::replay::{Request, Requests};
use plimsoll_memory::{
    ALLOCATOR_NAMES, Address, Allocator, AllocatorOptions, Bfc, BfcOptions, RegionId, Simulated, by_name,
};
use plimsoll_trace::{BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace};
use std::fs::File;
use std::hint::black_box;
use std::time::Instant;

const EMBEDDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cnn_small_32_128_adam.txt.gz");

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| EMBEDDED.to_string());
    let recording =
        recording::read(File::open(&path).expect("the trace opens")).expect("the trace can be read");
    let requests = Requests::of(&recording.trace).expect("the trace makes sense");
    println!("{path}: {} events, {} live at most", requests.len(), requests.places());
    report("bfc", &requests, &|| run(&requests, &mut Bfc::new(BfcOptions::default())));
    for name in ALLOCATOR_NAMES {
        let boxed =
            || run(&requests, &mut *by_name(name, &AllocatorOptions::default()).expect("it is named"));
        report(&format!("{name}, boxed"), &requests, &boxed);
    }
    println!("\nsynthetic, a tenth of the events live at once");
    for power in 4..=7 {
        let requests = synthetic(10usize.pow(power));
        let name = format!("bfc, 10^{power} events, {} live at most", requests.places());
        report(&name, &requests, &|| run(&requests, &mut Bfc::new(BfcOptions::default())));
    }
}

/// Prints the best of a few rounds; more rounds where they are short.
fn report(name: &str, requests: &Requests, round: &dyn Fn()) {
    let rounds = (10_000_000 / requests.len().max(1)).clamp(3, 200);
    let times = (0..rounds).map(|_| {
        let begin = Instant::now();
        round();
        begin.elapsed().as_secs_f64()
    });
    let best = times.fold(f64::INFINITY, f64::min) / requests.len() as f64;
    println!("{name:<45} {:>6.1} million events/s {:>6.0} ns/event", 1e-6 / best, 1e9 * best);
}

/// The allocator itself: no statistics between two requests.
fn run<A: Allocator + ?Sized>(requests: &Requests, allocator: &mut A) {
    let mut regions = Simulated::new(Bytes(1 << 45));
    let nowhere = Address { region: RegionId(0), offset: Offset::START };
    let mut addresses = vec![nowhere; requests.places()];
    for request in requests.list() {
        match *request {
            Request::Take { block, bytes, label } => {
                let taken = allocator.take(bytes, label, &mut regions).expect("there is enough");
                addresses[block as usize] = taken.address;
            }
            Request::Free { block } => {
                allocator.free(addresses[block as usize], &mut regions).expect("it is live");
            }
        }
    }
    black_box(allocator.statistics());
}

/// Takes until a tenth of the events are live, then takes and frees in turn, in no order and of many sizes.
fn synthetic(events: usize) -> Requests {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut trace =
        Trace { labels: vec![Label::default()], events: Vec::with_capacity(events), ..Trace::default() };
    let mut live: Vec<BlockId> = Vec::new();
    let mut free: Option<BlockId> = None;
    for event in 0..events as u32 {
        let time = Time(event);
        if let Some(block) = free.take() {
            trace.events.push(Event::Free { time, block });
            continue;
        }
        let largest = 1 << (8 + random(10));
        let bytes = Bytes(1 + random(largest));
        let block = BlockId(event);
        trace.events.push(Event::Take { time, block, offset: Offset::START, bytes, label: LabelId(0) });
        live.push(block);
        if live.len() > events / 10 {
            free = Some(live.swap_remove(random(live.len() as u64) as usize));
        }
    }
    Requests::of(&trace).expect("it makes sense")
}
