//! The runs of an audit, and the budgets they are made at.

use super::{Finding, LIMITS, examine};
use crate::program::{Program, root};
use serde_json::Value;
use std::path::Path;

/// A training run, without its budget.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) arguments: Vec<String>,
    budgets: Budgets,
}

/// How a run takes its memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// By a plan, to the byte.
    Planned,
    /// Through an allocator, up to the limit.
    Eager,
}

/// At which budgets a run is made.
enum Budgets {
    /// The smallest that a refusal names, the peak of the plain plan, and the middle of the two.
    Three,
    /// What the plain plan takes.
    Peak,
    /// Three times the plain plan: what an allocator needs.
    Roomy,
}

/// Models of the zoo, with sizes that keep a step within seconds.
const ZOO: [&str; 14] = [
    "mlp",
    "cnn",
    "lenet",
    "resnet20",
    "resnet50@64",
    "vgg16@64",
    "mobilenet_v2@64",
    "mobilenet_v3_large@64",
    "efficientnet_b0@64",
    "densenet121@64",
    "unet@64",
    "lstm@32",
    "bilstm@32",
    "transformer@32",
];

/// All runs, or the few of the short form.
pub(super) fn list(short: bool) -> Vec<Run> {
    let zoo = ZOO.iter().filter(|model| !short || ["lenet", "cnn", "lstm@32"].contains(model));
    let mut runs: Vec<Run> =
        zoo.map(|model| Run::new(model, "--data synthetic --batch 4", Budgets::Three)).collect();
    for file in keras_files().into_iter().take(if short { 1 } else { usize::MAX }) {
        runs.push(Run::new(&file, "--data synthetic --batch 4", Budgets::Three));
    }
    // Every length has its turn: the peak is that of the longest.
    let count = if short { 16 } else { 128 };
    let lengths: Vec<String> = (1..=count).map(|length| length.to_string()).collect();
    let lengths = format!("--data synthetic --batch 4 --steps {count} --lengths {}", lengths.join(","));
    runs.push(Run::new("lstm", &lengths, Budgets::Peak).called("lengths"));
    let deep = if short { "transformer@16,layers=24" } else { "transformer@16,layers=256" };
    runs.push(Run::new(deep, "--data synthetic --batch 2", Budgets::Peak));
    runs.push(
        Run::new("cnn", "--data synthetic --batch 4 --threads 256", Budgets::Peak).called("256 threads"),
    );
    let large = if short { "cnn@64" } else { "vgg16@64" };
    let saved = "--data synthetic --batch 4 --save saved.safetensors";
    runs.push(Run::new(large, saved, Budgets::Peak).called("save"));
    let loaded = "--data synthetic --batch 4 --from saved.safetensors --steps 3";
    runs.push(Run::new(large, loaded, Budgets::Peak).called("load"));
    for model in ["cnn", "lstm@32"].iter().chain(["resnet50@64", "unet@64"].iter().filter(|_| !short)) {
        runs.push(Run::new(model, "--data synthetic --batch 4 --mode eager", Budgets::Roomy).eager());
    }
    runs
}

/// A run at each of its budgets.
pub(super) fn with_budgets(program: &Program, run: &Run) -> Vec<Finding> {
    // Runs share a folder: what one saves another loads.
    let folder = root().join("target/audit");
    let made = std::fs::create_dir_all(&folder);
    match made.map_err(|error| error.to_string()).and_then(|()| run.budgets(program, &folder)) {
        Ok(budgets) => {
            budgets.into_iter().map(|budget| examine(program, run, Some(budget), &folder)).collect()
        }
        Err(error) => vec![Finding::failed(run.name.clone(), None, error)],
    }
}

impl Run {
    fn new(model: &str, options: &str, budgets: Budgets) -> Self {
        let steps = if options.contains("--steps") { "" } else { "--steps 2" };
        let name =
            Path::new(model).file_name().map_or(model.into(), |name| name.to_string_lossy()).into_owned();
        let words = options.split_whitespace().chain(steps.split_whitespace());
        let arguments = ["train", model].into_iter().chain(words).map(str::to_owned).collect();
        Self { name, kind: Kind::Planned, arguments, budgets }
    }

    fn called(self, what: &str) -> Self {
        Self { name: format!("{}, {what}", self.name), ..self }
    }

    fn eager(self) -> Self {
        Self { kind: Kind::Eager, ..self }.called("eager")
    }

    /// The budgets in bytes: what the plain plan takes is asked of a run without one.
    fn budgets(&self, program: &Program, folder: &Path) -> Result<Vec<u64>, String> {
        let peak = self.figure(program, folder, &[], |said| said["planned_peak_bytes"].as_u64())?;
        match self.budgets {
            Budgets::Peak => Ok(vec![peak]),
            Budgets::Roomy => Ok(vec![3 * peak]),
            Budgets::Three => {
                let named = |said: &Value| said["evidence"]["requested_bytes"].as_u64();
                let least = self.figure(program, folder, &["--memory", "1B"], named)?;
                Ok(vec![least, least.midpoint(peak), peak])
            }
        }
    }

    /// A figure of what the run says with further arguments.
    fn figure(
        &self,
        program: &Program,
        folder: &Path,
        further: &[&str],
        of: impl Fn(&Value) -> Option<u64>,
    ) -> Result<u64, String> {
        let mut arguments = self.arguments.clone();
        if self.kind == Kind::Eager {
            arguments.retain(|word| !["--mode", "eager"].contains(&word.as_str()));
        }
        arguments.extend(further.iter().copied().chain(["--json"]).map(str::to_owned));
        let ran = program.run(&arguments, folder, LIMITS).map_err(|error| error.to_string())?;
        let said = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
        of(&said).ok_or_else(|| format!("{}: {}", arguments.join(" "), super::last_line(&ran.stderr)))
    }
}

fn keras_files() -> Vec<String> {
    let folder = root().join("crates/import/tests/keras/files");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path().to_string_lossy().into_owned());
    let mut files: Vec<String> = paths.filter(|path| path.ends_with(".keras")).collect();
    files.sort();
    files
}
