//! Scripts: a recipe as Python that TensorFlow runs.
//!
//! A script is short, and each line that saves memory says what it saves. What is the reader's stands in two functions
//! at its top, `make_model` and `samples`; whoever has a training program already imports `train` and gives it their
//! own.

mod again;
mod data;
mod layers;
mod quoting;
mod source;
mod training;

use crate::recipe::{Needs, RecipeFile};
use crate::setup::{Device, Mode};
use data::Sample;
use plimsoll_model::Model;
use plimsoll_train::{Loss, Muon, Optimizer, Precision};

/// What cannot be said in Python.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum ScriptError {
    #[error("the layer `{name}` ({kind}) cannot be written as code")]
    Layer { name: String, kind: &'static str },
    #[error("the model cannot be built: {0}")]
    Model(String),
}

impl ScriptError {
    /// What would help.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Layer { .. } => "save the model with Keras and name the file as MODEL",
            Self::Model(_) => "make the plan again: the model has changed since",
        }
    }
}

/// The script for a recipe. The model is what the recipe's file names; it says what samples look like, and how it is
/// built if it is not a file.
pub fn script(file: &RecipeFile, model: &Model) -> Result<String, ScriptError> {
    let sample = Sample::of(file, model)?;
    let borders = again::borders(file, model)?;
    let sections = [
        heading(file),
        limit(file),
        devices(file),
        precision(file.recipe.setup.precision),
        yours(&source::model(file, model, &borders)?, &sample.code()),
        sample.batches(file.recipe.rows()),
        again::code(&borders),
        training::code(file, &sample),
    ];
    Ok(sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n")
}

fn heading(file: &RecipeFile) -> String {
    let (recipe, needs) = (&file.recipe, &file.needs);
    let setup = &recipe.setup;
    let parts = match setup.accumulate {
        0 | 1 => String::new(),
        parts => format!(" as {parts} micro-batches of {}", recipe.rows()),
    };
    format!(
        "\"\"\"Trains {model} in {budget}: batch {batch}{parts}, {optimizer}, {precision}.\n\n\
        Predicted for a step: {live} of tensors, a peak of {reported} in TensorFlow's allocator, which needs a limit of {limit}.\n\"\"\"",
        model = quoting::inside(&file.model),
        budget = file.budget,
        batch = recipe.batch,
        optimizer = setup.optimizer,
        precision = setup.precision.name(),
        live = needs.live,
        reported = needs.reported,
        limit = needs.limit,
    )
}

/// The pool's limit in MiB: all of the budget that is left for it.
fn limit_mib(file: &RecipeFile) -> u64 {
    let Needs { beside, .. } = file.needs;
    file.budget.saturating_sub(beside).0 >> 20
}

/// What must stand before TensorFlow is imported.
fn limit(file: &RecipeFile) -> String {
    let mib = limit_mib(file);
    let (system, environment) = match file.recipe.setup.device {
        Device::Cpu => (
            "import os\nimport sys\n",
            "# TensorFlow reads these lines when it is imported: they must stand before that, and mean nothing after it.\n\
             if \"tensorflow\" in sys.modules:\n    \
             raise ImportError(\"import this file before TensorFlow and Keras, which are limited when they start\")\n\
             # On a CPU TensorFlow has no limit of its own; its GPU allocator can be asked to keep one.\n\
             os.environ[\"TF_CPU_ALLOCATOR_USE_BFC\"] = \"1\"\n\
             os.environ[\"TF_CPU_BFC_MEM_LIMIT_IN_MB\"] = str(LIMIT_MIB)\n\
             # oneDNN keeps its own copies of weights and scratch that no limit covers.\n\
             os.environ[\"TF_ENABLE_ONEDNN_OPTS\"] = \"0\"\n",
        ),
        Device::Gpu => ("import os\n", ""),
    };
    format!(
        "{system}\nHERE = os.path.dirname(os.path.abspath(__file__))  # files are found beside this one, wherever it is started\n\
         LIMIT_MIB = {mib}  # what TensorFlow's allocator may take\n{environment}\nimport keras\nimport numpy as np\nimport tensorflow as tf"
    )
}

fn devices(file: &RecipeFile) -> String {
    let one_by_one = "# Kernels one after another: what two branches would hold at the same time is held once.\n\
                      tf.config.threading.set_inter_op_parallelism_threads(1)";
    match (file.recipe.setup.device, file.recipe.growth) {
        (Device::Cpu, _) => one_by_one.to_string(),
        (Device::Gpu, true) => format!(
            "gpu = tf.config.list_physical_devices(\"GPU\")[0]\n\
             tf.config.set_visible_devices(gpu, \"GPU\")  # no context, so no memory, on other cards\n\
             # Takes memory as it is needed, so that others can use the card; needs more in the end than a limit does.\n\
             tf.config.experimental.set_memory_growth(gpu, True)\n{one_by_one}"
        ),
        (Device::Gpu, false) => format!(
            "gpu = tf.config.list_physical_devices(\"GPU\")[0]\n\
             tf.config.set_visible_devices(gpu, \"GPU\")  # no context, so no memory, on other cards\n\
             # One region of this size from the start: nothing is stranded at the end of regions, and others know what is left.\n\
             tf.config.set_logical_device_configuration(\n    gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=LIMIT_MIB)]\n)\n{one_by_one}"
        ),
    }
}

fn precision(precision: Precision) -> String {
    if !precision.is_mixed() {
        return String::new();
    }
    format!(
        "# Layers compute in two bytes an element, which halves activations; weights stay float32.\nkeras.mixed_precision.set_global_policy(\"{}\")",
        precision.name()
    )
}

fn optimizer(file: &RecipeFile) -> String {
    let setup = &file.recipe.setup;
    let accumulate = match setup.accumulate {
        0 | 1 => None,
        parts => Some(format!("gradient_accumulation_steps={parts}")),
    };
    let why = match setup.accumulate {
        0 | 1 => String::new(),
        parts => format!(
            "# {parts} steps of {} samples make one update of {}: activations of a part only, the mean gradient of all.\n",
            file.recipe.rows(),
            file.recipe.batch
        ),
    };
    let arguments: Vec<String> = optimizer_arguments(setup.optimizer).into_iter().chain(accumulate).collect();
    let scaled = match (setup.precision, setup.mode) {
        // `compile` does this by itself.
        (Precision::MixedFloat16, Mode::Graph | Mode::Eager) => {
            "\n# float16 gradients underflow unless the loss is scaled.\noptimizer = keras.optimizers.LossScaleOptimizer(optimizer)"
        }
        _ => "",
    };
    format!(
        "{why}optimizer = keras.optimizers.{}({}){scaled}",
        optimizer_class(setup.optimizer),
        arguments.join(", ")
    )
}

fn optimizer_class(optimizer: Optimizer) -> &'static str {
    match optimizer {
        Optimizer::Sgd | Optimizer::Momentum { .. } | Optimizer::Nesterov { .. } => "SGD",
        Optimizer::RmsProp { .. } => "RMSprop",
        Optimizer::Adam { .. } => "Adam",
        Optimizer::AdamW { .. } => "AdamW",
        Optimizer::Nadam { .. } => "Nadam",
        Optimizer::Adamax { .. } => "Adamax",
        Optimizer::Adagrad { .. } => "Adagrad",
        Optimizer::Adadelta { .. } => "Adadelta",
        Optimizer::Ftrl { .. } => "Ftrl",
        Optimizer::Lion { .. } => "Lion",
        Optimizer::Adafactor { .. } => "Adafactor",
        Optimizer::Lamb { .. } => "Lamb",
        Optimizer::Muon(_) => "Muon",
        Optimizer::ScheduleFree { .. } => "ScheduleFreeAdamW",
    }
}

fn optimizer_arguments(optimizer: Optimizer) -> Vec<String> {
    let rate = format!("learning_rate={}", optimizer.default_learning_rate());
    let numbers = |all: &[(&str, f64)]| -> Vec<String> {
        all.iter().map(|(name, number)| format!("{name}={number:?}")).collect()
    };
    let on = |name: &str, flag: bool| flag.then(|| format!("{name}=True"));
    let moments = |beta1: f64, beta2: f64, epsilon: f64| {
        vec![format!("beta_1={beta1}"), format!("beta_2={beta2}"), format!("epsilon={epsilon:e}")]
    };
    let more = match optimizer {
        Optimizer::Sgd => vec![],
        Optimizer::Momentum { momentum } => vec![format!("momentum={momentum}")],
        Optimizer::Nesterov { momentum } => vec![format!("momentum={momentum}"), "nesterov=True".to_string()],
        Optimizer::RmsProp { rho, epsilon, momentum, centered } => {
            let motion = (momentum > 0.0).then(|| format!("momentum={momentum}"));
            let own = vec![format!("rho={rho}"), format!("epsilon={epsilon:e}")];
            own.into_iter().chain(motion).chain(on("centered", centered)).collect()
        }
        Optimizer::Adam { beta1, beta2, epsilon, amsgrad } => {
            moments(beta1, beta2, epsilon).into_iter().chain(on("amsgrad", amsgrad)).collect()
        }
        Optimizer::AdamW { beta1, beta2, epsilon, amsgrad, weight_decay } => {
            let decay = vec![format!("weight_decay={weight_decay}")];
            decay.into_iter().chain(moments(beta1, beta2, epsilon)).chain(on("amsgrad", amsgrad)).collect()
        }
        Optimizer::Nadam { beta1, beta2, epsilon }
        | Optimizer::Adamax { beta1, beta2, epsilon }
        | Optimizer::Lamb { beta1, beta2, epsilon } => moments(beta1, beta2, epsilon),
        Optimizer::Adagrad { initial, epsilon } => {
            numbers(&[("initial_accumulator_value", initial), ("epsilon", epsilon)])
        }
        Optimizer::Adadelta { rho, epsilon } => numbers(&[("rho", rho), ("epsilon", epsilon)]),
        Optimizer::Ftrl { power, initial, l1, l2, shrinkage, beta } => numbers(&[
            ("learning_rate_power", power),
            ("initial_accumulator_value", initial),
            ("l1_regularization_strength", l1),
            ("l2_regularization_strength", l2),
            ("l2_shrinkage_regularization_strength", shrinkage),
            ("beta", beta),
        ]),
        Optimizer::Lion { beta1, beta2 } => numbers(&[("beta_1", beta1), ("beta_2", beta2)]),
        Optimizer::Adafactor { decay, epsilon1, epsilon2, threshold } => numbers(&[
            ("beta_2_decay", decay),
            ("epsilon_1", epsilon1),
            ("epsilon_2", epsilon2),
            ("clip_threshold", threshold),
        ]),
        Optimizer::Muon(muon) => muon_arguments(muon),
        Optimizer::ScheduleFree { beta1, beta2, epsilon, warmup } => {
            let rise = vec![format!("warmup_steps={warmup}")];
            moments(beta1, beta2, epsilon).into_iter().chain(rise).collect()
        }
    };
    std::iter::once(rate).chain(more).collect()
}

fn muon_arguments(muon: Muon) -> Vec<String> {
    let flag = |flag: bool| if flag { "True" } else { "False" };
    let [a, b, c] = muon.polynomial;
    let [beta1, beta2, epsilon] = muon.adam;
    vec![
        format!("adam_beta_1={beta1:?}"),
        format!("adam_beta_2={beta2:?}"),
        format!("epsilon={epsilon:?}"),
        format!("adam_weight_decay={:?}", muon.adam_weight_decay),
        format!("weight_decay={:?}", muon.weight_decay),
        format!("exclude_embeddings={}", flag(muon.exclude_embeddings)),
        format!("muon_a={a:?}"),
        format!("muon_b={b:?}"),
        format!("muon_c={c:?}"),
        format!("adam_lr_ratio={:?}", muon.adam_rate),
        format!("momentum={:?}", muon.momentum),
        format!("ns_steps={}", muon.iterations),
        format!("nesterov={}", flag(muon.nesterov)),
        format!("rms_rate={}", muon.rms_rate.map_or("None".to_string(), |rate| format!("{rate:?}"))),
    ]
}

fn loss(loss: Loss) -> String {
    match loss {
        Loss::CategoricalCrossEntropy { from_logits } => with_logits("CategoricalCrossentropy", from_logits),
        Loss::SparseCategoricalCrossEntropy { from_logits } => {
            with_logits("SparseCategoricalCrossentropy", from_logits)
        }
        Loss::BinaryCrossEntropy { from_logits } => with_logits("BinaryCrossentropy", from_logits),
        Loss::MeanSquaredError => "keras.losses.MeanSquaredError()".to_string(),
        Loss::MeanAbsoluteError => "keras.losses.MeanAbsoluteError()".to_string(),
        Loss::Huber { delta } => format!("keras.losses.Huber(delta={delta})"),
        // Nothing is predicted for these, so no script is asked for; Keras has functions of their names.
        Loss::Composed(_) => format!("keras.losses.{}", loss.name()),
    }
}

fn with_logits(class: &str, from_logits: bool) -> String {
    format!("keras.losses.{class}({})", if from_logits { "from_logits=True" } else { "" })
}

/// What a reader replaces: where the model and the samples come from.
fn yours(model: &str, samples: &str) -> String {
    format!(
        "# ---- yours: the model that was planned, and your data ----\n\n\n\
         def make_model():\n{}\n    return model\n\n\n{samples}\n\n\n# ---- what keeps it inside the limit ----",
        indented(model)
    )
}

fn indented(lines: &str) -> String {
    let indent = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    lines.lines().map(indent).collect::<Vec<_>>().join("\n")
}

fn tuple(extents: &[usize]) -> String {
    match extents {
        [one] => format!("({one},)"),
        _ => format!("({})", extents.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
