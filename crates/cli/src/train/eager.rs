//! `plimsoll train --mode eager`: op by op, from an allocator.

use super::{Display, Saved, bytes, file_failure, recording};
use crate::arguments::{MemoryUse, Mode, OnOom, Switch, Train};
use crate::failure::Failure;
use crate::table::Table;
use plimsoll::data::Dataset;
use plimsoll::exec::eager::MakeAllocator;
use plimsoll::graph::samples::Mixing;
use plimsoll::memory::{AllocatorOptions, BfcOptions, Device, Growth, by_name};
use plimsoll::trace::Recorder;
use plimsoll::{Bytes, EagerOptions, EagerTrainer, OnShortage, Outcome, PoolUse, Prepared, Run};

/// The allocator where none is named.
pub(super) const USUAL: &str = "bfc";

/// Refuses options that would have no effect.
pub(super) fn check_options(how: &MemoryUse) -> Result<(), Failure> {
    let given = [("--allocator", how.allocator.is_some()), ("--on-oom", how.on_oom.is_some())];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given && how.mode == Mode::Graph) {
        let hint = Some("add --mode eager".to_string());
        return Err(Failure::usage(format!("{option} has no meaning for a planned run"), hint));
    }
    match how.allocator.as_deref().unwrap_or(USUAL) {
        USUAL => Ok(()),
        name if how.growth.is_some() => {
            Err(Failure::usage(format!("{name} does not know --growth; only {USUAL} does"), None))
        }
        _ => Ok(()),
    }
}

/// Whether the device reserves its whole limit at once. In eager mode that is the allocator's business.
pub(super) fn device_growth(arguments: &Train) -> Growth {
    let MemoryUse { mode, growth, .. } = arguments.memory_use;
    match (mode, growth) {
        (Mode::Graph, Some(Switch::Off)) => Growth::Off,
        _ => Growth::On,
    }
}

/// Trains eagerly.
pub(super) fn train(
    prepared: Vec<Prepared>,
    device: &Device,
    run: Run,
    data: &Dataset,
    (file, how): (&Saved, &MemoryUse),
    trace: Option<Recorder>,
) -> Result<Outcome, Failure> {
    let mut trainer = EagerTrainer::new(prepared, device, run, options(how))?;
    if let Some(keras) = &file.keras {
        trainer.read_weights(keras).map_err(file_failure)?;
    }
    trace.into_iter().for_each(|recorder| trainer.record_to(recorder));
    let mixing = trainer.mixing().cloned();
    let display = Display::new(run.steps);
    let mut parts = 1;
    let outcome = trainer.train(data, |progress| {
        if progress.parts > parts {
            let first = parts == 1;
            parts = progress.parts;
            display.bar.suspend(|| tell_of_parts(progress.step, parts, mixing.as_ref().filter(|_| first)));
        }
        display.show(progress);
    });
    display.bar.finish_and_clear();
    recording::tell(trainer.finish_recording());
    let outcome = outcome?;
    if let (Some(keras), Some(path)) = (&file.keras, &file.save) {
        trainer.write_weights(keras, path).map_err(file_failure)?;
    }
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

fn tell_of_parts(step: u64, parts: usize, mixing: Option<&Mixing>) {
    eprintln!("step {step} ran out of memory; from here on steps are made in {parts} parts");
    if let Some(mixing) = mixing {
        eprintln!(
            "warning: {mixing} sees all samples of a batch, so a step in parts is not the same as a whole one"
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
    let bfc = BfcOptions { growth: how.growth != Some(Switch::Off), ..BfcOptions::default() };
    let options = AllocatorOptions { bfc, ..AllocatorOptions::default() };
    let name = how.allocator.clone().unwrap_or(USUAL.to_string());
    Box::new(move || by_name(&name, &options).expect("the command line knows the names"))
}
