//! `plimsoll export`: a plan in the words of others.

mod tensorflow;

use crate::arguments::{Export, ExportTo};
use crate::failure::Failure;
use std::process::ExitCode;

/// Runs the command.
pub fn run(arguments: &Export) -> Result<ExitCode, Failure> {
    let text = match arguments.to {
        ExportTo::Tensorflow => tensorflow::script_of(&arguments.file)?,
    };
    match &arguments.output {
        Some(path) => {
            std::fs::write(path, text)
                .map_err(|error| Failure::usage(format!("{}: {error}", path.display()), None))?;
            eprintln!("wrote {0}", path.display());
        }
        None => print!("{text}"),
    }
    Ok(ExitCode::SUCCESS)
}
