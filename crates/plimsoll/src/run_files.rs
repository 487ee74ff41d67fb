//! The files a run begins and ends with: the model's own, if Keras has saved it, and states.

use crate::{Exchange, Note, Prepared, RequestError, imported};
use plimsoll_import::keras::{Keras, KerasError};
use plimsoll_state::safetensors::{self, StateFile};
use plimsoll_state::{State, pair, whole_file};
use plimsoll_train::Descent;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The files of a run.
pub(crate) struct RunFiles {
    keras: Option<Keras>,
    /// The optimizer, if it is the one that the model's file has.
    own: Option<Descent>,
    /// The state to go on from.
    from: Option<(State, StateFile)>,
    /// Where the result goes.
    save: Option<PathBuf>,
}

impl RunFiles {
    /// Opens what is there, and asks whether the result can be written, before anything runs.
    pub(crate) fn open(
        keras: Option<Keras>,
        own: Option<Descent>,
        from: Option<&Path>,
        save: Option<PathBuf>,
    ) -> Result<Self, RequestError> {
        let from = from.map(safetensors::open).transpose()?;
        match (&save, &keras) {
            (None, _) => {}
            (Some(path), _) if is_state(path) => {
                let failed = |error| RequestError::Unwritable { path: path.clone(), error };
                whole_file::check(path).map_err(failed)?;
            }
            (Some(path), Some(keras)) => keras.check_write(path).map_err(|error| unwritable(path, error))?,
            (Some(_), None) => return Err(RequestError::NothingToSave),
        }
        Ok(Self { keras, own, from, save })
    }

    /// How many steps were made before.
    pub(crate) fn made(&self) -> u64 {
        self.from.as_ref().map_or(0, |(state, _)| state.step)
    }

    /// What decides the order of samples: the state's, so that a run goes on as it was, or the one given.
    pub(crate) fn seed(&self, given: u64) -> u64 {
        self.from.as_ref().filter(|(state, _)| state.step > 0).map_or(given, |(state, _)| state.seed)
    }

    /// What the optimizer of the model's file remembered, where the run begins with that.
    fn saved(&self) -> Option<(u64, Option<f32>)> {
        let (keras, own) = (self.keras.as_ref()?, self.own.as_ref()?);
        imported::saved_numbers(keras, own).filter(|_| self.from.is_none())
    }

    /// The learning rate that was last used.
    pub(crate) fn learning_rate(&self) -> Option<f32> {
        self.saved().and_then(|(_, rate)| rate)
    }

    /// That the optimizer goes on, where it does.
    pub(crate) fn goes_on(&self) -> Option<Note> {
        let updates = self.saved().map(|(updates, _)| updates).filter(|&updates| updates > 0);
        updates.map(|updates| Note::OptimizerGoesOn { updates })
    }

    /// Whether the state is one of the model and leaves steps to make; gives what should be known about it.
    pub(crate) fn check(&self, prepared: &Prepared, steps: u64) -> Result<Vec<Note>, RequestError> {
        let Some((state, _)) = &self.from else { return Ok(Vec::new()) };
        if state.step >= steps {
            return Err(RequestError::NoStepsLeft { made: state.step, steps });
        }
        let wanted = crate::exchange::fresh_state(&prepared.training.graph);
        let extra = pair(&wanted, state).map_err(plimsoll_state::StateError::from)?.extra;
        let (step, position) = (state.step, state.position);
        let goes_on = (step > 0).then_some(Note::GoesOn { step, position });
        let first = extra.first().cloned();
        let left_out = first.map(|first| Note::LeftOut { count: extra.len(), first });
        Ok(goes_on.into_iter().chain(left_out).collect())
    }

    /// Puts what the files have into a trainer: the model's weights, or the state.
    pub(crate) fn load(&self, trainer: &mut impl Exchange) -> Result<(), RequestError> {
        match (&self.from, &self.keras) {
            (Some((state, contents)), _) => {
                let state = State { seed: self.seed(trainer.state().seed), ..state.clone() };
                trainer.restore(&state, contents)?;
            }
            (None, Some(keras)) => match &self.own {
                Some(own) => trainer.read_model(keras, own)?,
                None => trainer.read_weights(keras)?,
            },
            (None, None) => {}
        }
        Ok(())
    }

    /// Writes the result, if it is asked for; says where. A run that has ended is not lost because its place is: what
    /// cannot be written there is written to the folder for temporary files.
    pub(crate) fn save(&self, trainer: &impl Exchange) -> Result<Option<PathBuf>, RequestError> {
        let Some(path) = &self.save else { return Ok(None) };
        let Err(error) = self.write(trainer, path) else { return Ok(Some(path.clone())) };
        let elsewhere = private_folder().ok().zip(path.file_name());
        let elsewhere = elsewhere.map(|(folder, name)| folder.join(name));
        match elsewhere.filter(|elsewhere| self.write(trainer, elsewhere).is_ok()) {
            Some(elsewhere) => {
                let (path, problem) = (path.clone(), error.to_string());
                Err(RequestError::SavedElsewhere { path, problem, elsewhere })
            }
            None => Err(error),
        }
    }

    fn write(&self, trainer: &impl Exchange, path: &Path) -> Result<(), RequestError> {
        match &self.keras {
            Some(keras) if !is_state(path) => match &self.own {
                Some(own) => trainer.write_model(keras, own, path)?,
                None => trainer.write_weights(keras, path)?,
            },
            _ => safetensors::write(path, &trainer.state(), &trainer.values())?,
        }
        Ok(())
    }
}

/// A new folder for temporary files that nobody else can look into.
fn private_folder() -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("plimsoll-saved-{}", std::process::id()));
    create_private(&folder).map(|()| folder)
}

#[cfg(unix)]
fn create_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Elsewhere the folder for temporary files is the user's own.
#[cfg(not(unix))]
fn create_private(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)
}

fn unwritable(path: &Path, error: KerasError) -> RequestError {
    match error {
        KerasError::Write(error) => RequestError::Unwritable { path: path.to_path_buf(), error },
        other => other.into(),
    }
}

fn is_state(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str) == Some("safetensors")
}
