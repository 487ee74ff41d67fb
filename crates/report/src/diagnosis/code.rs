//! What to write for each remedy, in the framework that printed the report.

use plimsoll_import::oomlog::{Killer, Source};
use plimsoll_trace::Bytes;
use std::fmt;

/// What to write.
#[derive(Clone, Debug, PartialEq)]
pub enum Code {
    /// Lines of a program or of a shell.
    Text(String),
    /// Something to ask Plimsoll for; a door words it.
    Ask(Ask),
}

/// Something to ask Plimsoll for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A training run within a budget.
    Train {
        /// The budget.
        memory: Bytes,
    },
    /// A plan within a budget, with levers that change numbers.
    FitAllowingAll {
        /// The budget.
        memory: Bytes,
    },
    /// An eager run that goes on in parts when memory runs out.
    Shrink,
    /// What the devices leave.
    Devices,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Ask(Ask::Train { memory }) => write!(f, "train with Plimsoll in {memory}"),
            Self::Ask(Ask::FitAllowingAll { memory }) => {
                write!(f, "fit with Plimsoll into {memory}, with every lever allowed")
            }
            Self::Ask(Ask::Shrink) => write!(f, "train with Plimsoll in parts where memory runs out"),
            Self::Ask(Ask::Devices) => write!(f, "look at the devices of Plimsoll"),
        }
    }
}

impl From<String> for Code {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

pub(crate) fn one_region(limit: Option<u64>) -> String {
    let limit = limit.map_or("MEBIBYTES".to_string(), |limit| (limit >> 20).to_string());
    format!(
        "gpu = tf.config.list_physical_devices(\"GPU\")[0]\n\
         tf.config.experimental.set_memory_growth(gpu, False)\n\
         # or, with a limit, which reserves it at once:\n\
         tf.config.set_logical_device_configuration(\n    \
         gpu, [tf.config.LogicalDeviceConfiguration(memory_limit={limit})])"
    )
}

pub(crate) fn limit(bytes: u64) -> String {
    format!(
        "gpu = tf.config.list_physical_devices(\"GPU\")[0]\n\
         tf.config.set_logical_device_configuration(\n    \
         gpu, [tf.config.LogicalDeviceConfiguration(memory_limit={})])",
        bytes.div_ceil(1 << 20)
    )
}

pub(crate) fn cuda_malloc_async() -> String {
    "TF_GPU_ALLOCATOR=cuda_malloc_async python train.py".to_string()
}

pub(crate) fn expandable_segments() -> String {
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py".to_string()
}

pub(crate) fn splitting() -> String {
    "# before the first op: split where more than a tenth of the chunk would be surplus\n\
     config = tf.compat.v1.ConfigProto()\n\
     config.gpu_options.experimental.internal_fragmentation_fraction = 0.1\n\
     tf.compat.v1.enable_eager_execution(config=config)"
        .to_string()
}

pub(crate) fn less(source: Source) -> String {
    match source {
        Source::PyTorch => {
            "with torch.autocast(\"cuda\", dtype=torch.bfloat16):  # changes numerics\n    loss = model(x)\n\
             # or recompute activations: torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"
                .to_string()
        }
        Source::Xla => "step = jax.checkpoint(step)  # recomputes activations".to_string(),
        _ => "keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")  # changes numerics\n\
             # or recompute activations: keras.remat(layer)"
            .to_string(),
    }
}

pub(crate) fn smaller_batch(batch: u64, fitting: u64) -> String {
    let parts = batch.div_ceil(fitting.max(1));
    format!(
        "# the same step in {parts} parts whose gradients are averaged (not the same where batch statistics are used)\n\
         optimizer = keras.optimizers.Adam(gradient_accumulation_steps={parts})\n\
         model.fit(x, y, batch_size={})",
        batch.div_ceil(parts)
    )
}

pub(crate) fn others(source: Source) -> String {
    match source {
        Source::PyTorch => "nvidia-smi  # who else is there\ntorch.cuda.set_per_process_memory_fraction(0.5)  # in each process".to_string(),
        _ => "nvidia-smi  # who else is there".to_string(),
    }
}

pub(crate) fn growth(source: Source) -> String {
    match source {
        Source::PyTorch => "torch.cuda.set_per_process_memory_fraction(0.5)  # in each process".to_string(),
        _ => "# before the first op:\nfor gpu in tf.config.list_physical_devices(\"GPU\"):\n    tf.config.experimental.set_memory_growth(gpu, True)"
            .to_string(),
    }
}

pub(crate) fn batches_from_host() -> String {
    "with tf.device(\"CPU:0\"):\n    data = tf.data.Dataset.from_tensor_slices((x, y))\n\
     model.fit(data.shuffle(1000).batch(32).prefetch(1))"
        .to_string()
}

pub(crate) fn kernel_log() -> String {
    "dmesg -T | grep -i -A2 \"killed process\"      # or: journalctl -k\n\
     kubectl describe pod POD | grep -A3 \"Last State\"\n\
     sacct -j JOB -o JobID,State,MaxRSS,ReqMem"
        .to_string()
}

pub(crate) fn host_limit(by: Killer, limit: Option<u64>) -> String {
    let twice =
        limit.map_or("SIZE".to_string(), |limit| limit.saturating_mul(2).div_ceil(1 << 30).to_string());
    let docker = format!("docker run -m {twice}g ...");
    let kubernetes = format!("resources: {{limits: {{memory: {twice}Gi}}}}");
    let slurm = format!("SBATCH_MEM_PER_NODE={twice}G sbatch job.sh");
    match by {
        Killer::Slurm => slurm,
        Killer::Container | Killer::Cgroup => format!("{docker}\n{kubernetes}"),
        Killer::Machine | Killer::Notebook => "free -h  # what there is, and what is taken".to_string(),
        Killer::Unnamed => format!("{docker}\n{kubernetes}\n{slurm}"),
    }
}

pub(crate) fn host_data() -> String {
    "x = np.load(\"x.npy\", mmap_mode=\"r\")         # pages come and go with use\n\
     data = data.shuffle(1000).batch(32).prefetch(1)  # no cache(), a bounded buffer\n\
     loader = DataLoader(dataset, num_workers=2, prefetch_factor=2)"
        .to_string()
}

pub(crate) fn leak(source: Source) -> String {
    match source {
        Source::PyTorch => "total += loss.item()  # not: total += loss".to_string(),
        _ => "total += float(loss)  # not: total += loss\n# and one trace for all shapes: @tf.function(reduce_retracing=True)".to_string(),
    }
}

pub(crate) fn leaner(source: Source) -> String {
    match source {
        Source::PyTorch => {
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)  # one slot a weight; Adam has two".to_string()
        }
        _ => "optimizer = keras.optimizers.SGD(0.01, momentum=0.9)  # one slot a weight; Adam has two".to_string(),
    }
}

pub(crate) fn weights(source: Source) -> String {
    match source {
        Source::PyTorch => "state = torch.load(path, map_location=\"cpu\", mmap=True)\nmodel.load_state_dict(state, assign=True)".to_string(),
        _ => "with tf.device(\"CPU:0\"):\n    weights = build_model(initializer=\"glorot_uniform\").get_weights()\n\
             model = build_model(initializer=\"zeros\")  # build_model is yours\nmodel.set_weights(weights)"
            .to_string(),
    }
}
