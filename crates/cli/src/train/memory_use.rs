//! How tensors get their memory in a training run, as it is written on the command line.

use crate::failure::Failure;
use crate::replay::torch_conf;
use clap::{Args, ValueEnum};
use plimsoll::memory::{ALLOCATOR_NAMES, Growth, TorchOptions};
use plimsoll::{EagerRequest, MemoryUse, OnShortage, USUAL_ALLOCATOR};

/// How tensors get their memory.
#[derive(Args)]
pub(super) struct MemoryArguments {
    /// graph: by a plan, in one arena; eager: op by op, from an allocator
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Mode::Graph)]
    mode: Mode,
    /// Who gives out memory in eager mode [default: bfc]
    #[arg(long, value_name = "NAME", value_parser = ALLOCATOR_NAMES)]
    allocator: Option<String>,
    /// Whether the device, or bfc in eager mode, takes memory as it is needed or all of the limit at once [default: on]
    #[arg(long, value_name = "ON|OFF", value_enum)]
    growth: Option<Switch>,
    /// Settings of the allocator torch, as in PYTORCH_CUDA_ALLOC_CONF, such as max_split_size_mb:128
    #[arg(long, value_name = "SETTINGS", value_parser = torch_conf)]
    torch_conf: Option<TorchOptions>,
    /// What happens when memory runs out in a step of eager mode [default: stop]
    #[arg(long, value_name = "WHAT", value_enum)]
    on_oom: Option<OnOom>,
    /// Train a text model on synthetic sequences whose lengths take turns, such as 16,32,64
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    lengths: Vec<u16>,
}

/// When memory is decided upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Before the run, by a plan
    Graph,
    /// During the run, by an allocator
    Eager,
}

/// A setting with two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// What happens when memory runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnOom {
    /// End with the evidence
    Stop,
    /// Make the step again in 2, 4, 8, ... parts, whose gradients are added up
    Shrink,
    /// Move what is live together and make the step again, once
    Compact,
}

impl MemoryArguments {
    /// What is asked for; options that would have no effect are refused.
    pub(super) fn request(&self) -> Result<MemoryUse, Failure> {
        let given = [
            ("--allocator", self.allocator.is_some()),
            ("--torch-conf", self.torch_conf.is_some()),
            ("--on-oom", self.on_oom.is_some()),
        ];
        let idle = given.into_iter().find(|(_, given)| *given && self.mode == Mode::Graph);
        if let Some((option, _)) = idle {
            let hint = Some("add --mode eager".to_string());
            return Err(Failure::usage(format!("{option} has no meaning for a planned run"), hint));
        }
        Ok(match self.mode {
            Mode::Graph => MemoryUse::Planned,
            Mode::Eager => MemoryUse::Eager(EagerRequest {
                allocator: self.allocator.clone().unwrap_or(USUAL_ALLOCATOR.to_string()),
                growth: self.growth.map(|growth| growth == Switch::On),
                torch: self.torch_conf,
                on_shortage: match self.on_oom.unwrap_or(OnOom::Stop) {
                    OnOom::Stop => OnShortage::Stop,
                    OnOom::Shrink => OnShortage::Shrink,
                    OnOom::Compact => OnShortage::Compact,
                },
            }),
        })
    }

    /// Whether the device reserves its whole limit at once.
    pub(super) fn device_growth(&self) -> Growth {
        if self.growth == Some(Switch::Off) { Growth::Off } else { Growth::On }
    }

    /// The lengths of sequences.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.lengths.iter().copied().map(usize::from).collect()
    }
}
