//! What is said about data of one's own, as it is written on the command line.

use crate::size::size;
use clap::{Args, ValueEnum};
use plimsoll::Bytes;
use plimsoll::data::InputRequest;
use plimsoll::input::{OnBadSample, PixelRange};

/// What is said about data of one's own.
#[derive(Args)]
pub(super) struct InputArguments {
    /// The most memory that reading data of your own may take, a part of --memory [default: as much as helps, up to
    /// 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    input_memory: Option<Bytes>,
    /// Keep a share of the samples apart, such as 0.2, and judge the result by them
    #[arg(long, value_name = "SHARE")]
    validation: Option<f64>,
    /// The column of a table that is to be predicted [default: label, target, class, y or output, or else the last]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// What black and white become: 0..255, 0..1 or -1..1 [default: 0..255 if the model rescales them, or else 0..1]
    #[arg(long, value_name = "RANGE", value_parser = pixel_range, allow_hyphen_values = true)]
    pixels: Option<PixelRange>,
    /// What happens to samples that cannot be read [default: stop]
    #[arg(long, value_name = "WHAT", value_enum)]
    on_bad_sample: Option<BadSampleAction>,
}

/// What happens to samples that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BadSampleAction {
    /// End with the first of them
    Stop,
    /// Read all once before the first step, and leave them out
    Skip,
}

impl InputArguments {
    /// What is asked for.
    pub(super) fn request(&self) -> InputRequest {
        InputRequest {
            memory: self.input_memory,
            validation: self.validation,
            target: self.target.clone(),
            pixels: self.pixels,
            on_bad_sample: match self.on_bad_sample {
                Some(BadSampleAction::Skip) => OnBadSample::Skip,
                Some(BadSampleAction::Stop) | None => OnBadSample::Stop,
            },
        }
    }
}

/// A range of brightness.
pub fn pixel_range(text: &str) -> Result<PixelRange, String> {
    match text {
        "0..255" => Ok(PixelRange::Bytes),
        "0..1" => Ok(PixelRange::Unit),
        "-1..1" => Ok(PixelRange::Symmetric),
        _ => Err("it is 0..255, 0..1 or -1..1".to_string()),
    }
}
