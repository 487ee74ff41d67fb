//! Another framework that would run a step instead of Plimsoll, as it is written on the command line.

use crate::failure::Failure;
use crate::step::Step;
use crate::train::Switch;
use clap::{Args, ValueEnum};
use plimsoll::reports::PredictRequest;
use plimsoll::tensorflow::{Device, Mode, Precision};

/// What would run the step instead of Plimsoll, and how.
#[derive(Args)]
pub struct Foreign {
    /// Predict what another framework would need: tensorflow
    #[arg(long = "as", value_name = "FRAMEWORK", value_enum)]
    pub framework: Option<Framework>,
    /// keras: model.fit; graph: a tf.function of your own; eager: without one [default: keras]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,
    /// float32, mixed_float16 or mixed_bfloat16 [default: as the model's file says, or float32]
    #[arg(long, value_name = "POLICY", value_parser = precision)]
    pub precision: Option<Precision>,
    /// Add up the gradients of so many steps before the weights change
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub accumulate: Option<u32>,
    /// Whether TensorFlow's allocator grows region by region [default: on for cpu, off for gpu]
    #[arg(long, value_name = "ON|OFF", value_enum)]
    pub growth: Option<Switch>,
    /// cpu: as measured; gpu: without the CPU's scratch, with allowances that were not measured [default: cpu]
    #[arg(long, value_name = "DEVICE", value_enum)]
    pub device: Option<ForeignDevice>,
}

/// Whose memory is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Framework {
    /// TensorFlow with Keras 3
    Tensorflow,
}

/// Where a foreign step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForeignDevice {
    /// TensorFlow's CPU kernels
    Cpu,
    /// A GPU
    Gpu,
}

impl Foreign {
    /// Options about another framework say nothing without one.
    pub fn refuse_idle_options(&self) -> Result<(), Failure> {
        let given = [
            ("--mode", self.mode.is_some()),
            ("--precision", self.precision.is_some()),
            ("--accumulate", self.accumulate.is_some()),
            ("--growth", self.growth.is_some()),
            ("--device", self.device.is_some()),
        ];
        let idle = given.into_iter().find(|(_, given)| *given && self.framework.is_none());
        let Some((option, _)) = idle else { return Ok(()) };
        let hint = "it says how another framework would run the step; add --as tensorflow".to_string();
        Err(Failure::usage(format!("{option} says nothing about a plan"), Some(hint)))
    }

    /// What is asked about a step.
    pub fn request(&self, step: &Step) -> PredictRequest {
        PredictRequest {
            job: step.request(),
            mode: self.mode.unwrap_or(Mode::Keras),
            precision: self.precision,
            accumulate: self.accumulate.unwrap_or(1),
            device: self.device(),
            growth: self.growth.map(|growth| growth == Switch::On),
            memory: step.memory,
        }
    }

    fn device(&self) -> Device {
        match self.device {
            Some(ForeignDevice::Gpu) => Device::Gpu,
            Some(ForeignDevice::Cpu) | None => Device::Cpu,
        }
    }
}

fn mode(name: &str) -> Result<Mode, String> {
    let names = Mode::ALL.map(Mode::name).join(", ");
    Mode::parse(name).ok_or_else(|| format!("there is no mode `{name}`\n  hint: the modes are {names}"))
}

fn precision(name: &str) -> Result<Precision, String> {
    let names = Precision::ALL.map(Precision::name).join(", ");
    Precision::parse(name)
        .ok_or_else(|| format!("there is no precision `{name}`\n  hint: the precisions are {names}"))
}
