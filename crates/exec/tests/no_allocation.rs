//! Nothing is allocated while a step runs, the first included. Entering rayon's pool is not ours: its queue takes a new
//! block after every 63 entries, and a step is one entry.

#![allow(unsafe_code)]

use plimsoll_exec::{Backend, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll_memory::Device;
use plimsoll_model::{Mode, zoo};
use plimsoll_plan::{Options, Profile, Residents, plan, verify_arena};
use plimsoll_train::{Loss, Optimizer, training_graph};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts every allocation of the process.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CPU: CpuBackend = CpuBackend::new(2);

/// After so many entries, the queue of rayon's pool takes a new block.
const ENTRIES_PER_BLOCK: usize = 63;

/// There is no harness: its thread would allocate while steps are counted. nextest asks for the names of tests.
fn main() {
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    match (asked("--list"), asked("--ignored")) {
        (true, false) => println!("a_step_allocates_nothing: test"),
        (true, true) => {}
        (false, _) => a_step_allocates_nothing(),
    }
}

/// Models that between them use most kernels.
fn a_step_allocates_nothing() {
    // Threads that end hand their garbage on, which allocates: no pool ends before the last step is counted.
    let mut executors = Vec::new();
    for spec in [
        "cnn@8,channels=1",
        "mobilenet_v2@32",
        "unet@16",
        "lstm@6,vocab=20",
        "transformer@6,vocab=20,layers=1",
    ] {
        let forward = zoo::find(spec).unwrap().lower(2, Mode::Training).unwrap();
        let loss = Loss::SparseCategoricalCrossEntropy { from_logits: false };
        let training = training_graph(forward, &loss.into(), Optimizer::parse("adam").unwrap()).unwrap();
        let target = CPU.target(Profile::default());
        let made = plan(&training.graph, &target, Options::default(), &Residents::default());
        let arena = verify_arena(vec![(training.graph.clone(), made)], &target).unwrap();
        let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: false, record: true });
        let mut executor = Executor::new(&CPU, arena, &[], &device, "test", settings).unwrap();
        let program = ProgramId::of(0);
        executor.write_i32(program, training.step, |into| into.fill(1));
        let mut entries = 0;
        for step in 0..ENTRIES_PER_BLOCK + 5 {
            let before = COUNT.load(Ordering::Relaxed);
            executor.run(program).unwrap();
            let allocated = COUNT.load(Ordering::Relaxed) - before;
            entries += 1;
            let allowed = usize::from(entries >= ENTRIES_PER_BLOCK);
            assert!(allocated <= allowed, "{spec} allocates {allocated} times in step {step}");
            if allocated > 0 {
                entries = 0;
            }
        }
        executors.push(executor);
    }
}
