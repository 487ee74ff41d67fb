//! The library's hints in the words of the command line: settings are flags, calls are commands.

use plimsoll::hint::{Call, Hint, PlannedChange, Setting};
use plimsoll::report::diagnosis::Ask;
use plimsoll::{Bytes, OnShortage};

/// A hint in a line.
pub fn hint(hint: &Hint) -> String {
    match hint {
        Hint::Say(text) => text.clone(),
        Hint::Set { text, settings } => {
            let flags: Vec<String> = settings.iter().map(setting).collect();
            format!("{text} ({})", flags.join(", "))
        }
        Hint::Changes(planned) => changes(planned),
        Hint::Call(call) => command(call),
    }
}

/// Changes that were planned: those that fit, or else those that come near.
fn changes(planned: &[PlannedChange]) -> String {
    let list = |fits: bool| {
        let matching = planned.iter().filter(|change| change.fits == fits);
        let words = matching.map(|change| format!("{} ({})", setting(&change.setting), change.peak_bytes));
        words.collect::<Vec<_>>().join(", ")
    };
    match (list(true).as_str(), list(false).as_str()) {
        ("", "") => "nothing this version can do brings it down: a smaller model is needed".to_string(),
        ("", others) => format!("no single change is enough; the nearest are {others}"),
        (fitting, _) => format!("these fit: {fitting}"),
    }
}

/// A setting as a flag.
fn setting(setting: &Setting) -> String {
    let with =
        |flag: &str, value: Option<String>| value.map_or(flag.to_string(), |value| format!("{flag} {value}"));
    match setting {
        Setting::Batch(batch) => with("--batch", batch.map(|batch| batch.to_string())),
        Setting::MicroBatches(count) => format!("--micro-batches {count}"),
        Setting::Precision(name) => format!("--precision {name}"),
        Setting::Threads(count) => format!("--threads {count}"),
        Setting::Loss => "--loss".to_string(),
        Setting::Optimizer(name) => with("--optimizer", name.clone()),
        Setting::LearningRate(rate) => with("--learning-rate", rate.map(|rate| rate.to_string())),
        Setting::Memory(bytes) => format!("--memory {}", written(*bytes)),
        Setting::Data(name) => format!("--data {name}"),
        Setting::Growth(on) => format!("--growth {}", if *on { "on" } else { "off" }),
        Setting::OnShortage(what) => format!("--on-oom {}", on_shortage(*what)),
        Setting::Planned => "--mode graph".to_string(),
        Setting::Eager => "--mode eager".to_string(),
    }
}

/// A call as a command.
pub fn command(call: &Call) -> String {
    match call {
        Call::Zoo => "`plimsoll zoo` lists the models and their options".to_string(),
        Call::WritePlan => "plans are written by `plimsoll fit MODEL --memory SIZE -o FILE`".to_string(),
        Call::PlanAgain => "make it again with `plimsoll fit`".to_string(),
        Call::Fit { model, batch, memory } => {
            format!("plimsoll fit {model} --batch {batch} --memory {}", memory.0)
        }
        Call::RecipeAgain => "make it again with `plimsoll fit --as tensorflow`".to_string(),
        Call::FitTensorflow { model, batch, memory } => format!(
            "plimsoll fit {model} --batch {batch} --memory {}MiB --as tensorflow --allow accumulate,precision",
            memory.0 >> 20
        ),
        Call::TrainPlan(path) => format!("plimsoll train --plan {}", path.display()),
        Call::ExportPlan(path) => {
            format!("plimsoll export {} --to tensorflow -o train.py", path.display())
        }
        Call::Train { model, batch, memory } => {
            format!("plimsoll train {model} --batch {batch} --memory {}", written(*memory))
        }
    }
}

/// What a remedy asks for, as a command.
pub fn ask(ask: Ask) -> String {
    match ask {
        Ask::Train { memory } => format!("plimsoll train MODEL --batch N --memory {}", written(memory)),
        Ask::FitAllowingAll { memory } => {
            format!("plimsoll fit MODEL --batch N --memory {} --allow accumulate,optimizer,batch", memory.0)
        }
        Ask::Shrink => "plimsoll train MODEL --batch N --mode eager --on-oom shrink".to_string(),
        Ask::Devices => {
            "ulimit -v  # unlimited, or a limit in KiB\nplimsoll devices  # what the cgroup and the machine leave".to_string()
        }
    }
}

fn on_shortage(what: OnShortage) -> &'static str {
    match what {
        OnShortage::Stop => "stop",
        OnShortage::Shrink => "shrink",
        OnShortage::Compact => "compact",
    }
}

/// A size that people would write: the next whole unit above.
fn written(bytes: Bytes) -> String {
    let (unit, name) = if bytes.0 < 1 << 20 { (1 << 10, "KiB") } else { (1 << 20, "MiB") };
    format!("{}{name}", bytes.0.div_ceil(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_flags() {
        let settings =
            [Setting::Growth(false), Setting::OnShortage(OnShortage::Shrink), Setting::Batch(None)];
        let said = hint(&Hint::set("use less", settings));
        assert_eq!(said, "use less (--growth off, --on-oom shrink, --batch)");
    }

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(written(Bytes((1 << 20) + 1)), "2MiB");
        assert_eq!(written(Bytes(1025)), "2KiB");
    }
}
