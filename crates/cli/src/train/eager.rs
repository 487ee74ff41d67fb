//! `plimsoll train --mode eager`: op by op, from an allocator.

use super::{Display, bytes};
use crate::arguments::{AllocatorName, MemoryUse, OnOom, Switch, Train};
use crate::failure::Failure;
use crate::table::Table;
use plimsoll::data::Dataset;
use plimsoll::exec::eager::MakeAllocator;
use plimsoll::memory::{Bfc, BfcOptions, Device};
use plimsoll::{Bytes, EagerOptions, EagerTrainer, OnShortage, Outcome, PoolUse, Prepared, Run};

/// More than any host has: what a run may take that was given no limit.
const NO_LIMIT: Bytes = Bytes(1 << 47);

/// Trains eagerly; the planned peak is only told for comparison.
pub(super) fn train(
    prepared: Vec<Prepared>,
    peak: Bytes,
    arguments: &Train,
    run: Run,
    data: &Dataset,
) -> Result<Outcome, Failure> {
    let how = &arguments.memory_use;
    if how.growth == Some(Switch::Off) && arguments.step.memory.is_none() {
        let hint = Some("add --memory with what it may have, such as --memory 512MiB".to_string());
        return Err(Failure::usage("without growth everything is reserved at once", hint));
    }
    let device = Device::host(arguments.step.memory.unwrap_or(NO_LIMIT));
    let limit =
        arguments.step.memory.map_or("without a limit".to_string(), |limit| format!("within {limit}"));
    let mut trainer = EagerTrainer::new(prepared, &device, run, options(how))?;
    let exact = trainer.parts_are_exact();
    eprintln!("eager {limit}; a planned step takes {peak} ({} bytes)", peak.0);
    let display = Display::new(run.steps);
    let mut parts = 1;
    let outcome = trainer.train(data, |progress| {
        if progress.parts > parts {
            parts = progress.parts;
            display.bar.suspend(|| tell_of_parts(progress.step, parts, exact));
        }
        display.show(progress);
    })?;
    display.bar.finish_and_clear();
    Ok(outcome)
}

/// What the pool was used for, below the planned peak.
pub(super) fn add_rows(table: &mut Table, pool: &PoolUse, planned: Bytes) {
    let ratio = |size: Bytes| format!("{}, {:.2} x the plan", bytes(size), size.0 as f64 / planned.0 as f64);
    table.row(["peak in use".to_string(), pool.peak_in_use.to_string(), ratio(pool.peak_in_use)]);
    table.row(["peak reserved".to_string(), pool.peak_reserved.to_string(), ratio(pool.peak_reserved)]);
    let share = format!("{:.1} %", 100.0 * pool.worst_fragmentation);
    let note = format!("of the free bytes not in one piece, with {}", pool.allocator);
    table.row(["worst fragmentation".to_string(), share, note]);
    if pool.shrunk_steps > 0 {
        let note = "made in parts, for want of memory".to_string();
        table.row(["shrunk steps".to_string(), pool.shrunk_steps.to_string(), note]);
    }
    if pool.compactions > 0 {
        let note = "that moved live blocks together".to_string();
        table.row(["compactions".to_string(), pool.compactions.to_string(), note]);
    }
}

fn tell_of_parts(step: u64, parts: usize, exact: bool) {
    eprintln!("step {step} ran out of memory; from here on steps are made in {parts} parts");
    if !exact && parts == 2 {
        eprintln!(
            "warning: this model normalizes over the batch, so a step in parts is not the same as a whole one"
        );
    }
}

fn options(how: &MemoryUse) -> EagerOptions {
    let on_shortage = match how.on_oom.unwrap_or(OnOom::Stop) {
        OnOom::Stop => OnShortage::Stop,
        OnOom::Shrink => OnShortage::Shrink,
        OnOom::Compact => OnShortage::Compact,
    };
    EagerOptions { allocator: allocator(how), on_shortage }
}

fn allocator(how: &MemoryUse) -> MakeAllocator {
    let growth = how.growth != Some(Switch::Off);
    match how.allocator.unwrap_or(AllocatorName::Bfc) {
        AllocatorName::Bfc => {
            Box::new(move || Box::new(Bfc::new(BfcOptions { growth, ..BfcOptions::default() })))
        }
    }
}
