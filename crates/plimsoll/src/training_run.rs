//! A training run that has been put together: its peak is known, and it can be run.

use crate::data::{BoundData, Dataset};
use crate::reports::{InputReport, TrainReport};
use crate::run_files::RunFiles;
use crate::trainer::{peak, peak_between};
use crate::{
    Bytes, EagerOptions, EagerTrainer, Note, Outcome, Prepared, Progress, RequestError, Run, Trainer,
};
use plimsoll_graph::samples::Mixing;
use plimsoll_memory::{Device, Promised, process};
use plimsoll_trace::Recorder;
use std::path::PathBuf;

/// A training run that has been put together by [`crate::TrainRequest::open`].
pub struct TrainingRun {
    pub(crate) prepared: Vec<Prepared>,
    pub(crate) device: Device,
    pub(crate) data: Dataset,
    /// Where the data come from, if they are one's own.
    pub(crate) own: Option<BoundData>,
    pub(crate) run: Run,
    pub(crate) files: RunFiles,
    pub(crate) recorder: Option<Recorder>,
    /// Nothing for a planned run.
    pub(crate) eager: Option<EagerOptions>,
    pub(crate) notes: Vec<Note>,
    /// What others know of it; it ends with the run.
    pub(crate) promised: Option<Promised>,
}

/// What happens during a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A step was made.
    Step(Progress),
    /// Memory ran out; from here on steps are made in parts.
    Parts {
        /// The step in which it ran out.
        step: u64,
        /// In how many parts.
        parts: usize,
        /// What lets samples of a batch see each other, so that a step in parts is not the same as a whole one.
        mixing: Option<Mixing>,
    },
    /// The steps are over and the trace has so many events, or could not be written to its end. A run does not fail
    /// because its recording did.
    Recorded(Result<u64, String>),
    /// The result was written.
    Saved(PathBuf),
}

impl TrainingRun {
    /// The job planned for each length of samples; only one where they have one length.
    pub fn prepared(&self) -> &[Prepared] {
        &self.prepared
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The data set.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// What was found out about data of one's own, and what reading them takes.
    pub fn own_data(&self) -> Option<&BoundData> {
        self.own.as_ref()
    }

    /// How long and how.
    pub fn settings(&self) -> Run {
        self.run
    }

    /// What the caller should know.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What the plans that will run take in one arena; an eager run is compared with all.
    pub fn planned_peak(&self) -> Bytes {
        match self.eager {
            None => peak_between(&self.prepared, self.files.made(), self.run.steps),
            Some(_) => peak(&self.prepared),
        }
    }

    /// Trains, telling what happens, and writes what is to be kept.
    pub fn train(self, mut tell: impl FnMut(Happening)) -> Result<TrainReport, RequestError> {
        let (mut outcome, input) = match self.eager {
            None => self.train_planned(&mut tell)?,
            Some(_) => self.train_eagerly(&mut tell)?,
        };
        // Saving counts, too.
        outcome.peak_resident = process::peak_resident();
        Ok(TrainReport { input, ..TrainReport::of(&outcome) })
    }

    fn train_planned(
        self,
        tell: &mut dyn FnMut(Happening),
    ) -> Result<(Outcome, Option<InputReport>), RequestError> {
        let _promised = self.promised;
        let mut trainer = Trainer::with_lengths(self.prepared, &self.device, self.run)?;
        self.files.load(&mut trainer)?;
        self.recorder.into_iter().for_each(|recorder| trainer.record_to(recorder));
        let outcome = trainer.train(&self.data, |progress| tell(Happening::Step(progress)));
        tell_recorded(trainer.finish_recording(), tell);
        let outcome = outcome?;
        self.files.save(&trainer)?.into_iter().for_each(|path| tell(Happening::Saved(path)));
        let input = InputReport::of(&self.data, self.own.as_ref(), outcome.time);
        Ok((outcome, input))
    }

    fn train_eagerly(
        self,
        tell: &mut dyn FnMut(Happening),
    ) -> Result<(Outcome, Option<InputReport>), RequestError> {
        let _promised = self.promised;
        let options = self.eager.expect("the caller looked");
        let mut trainer = EagerTrainer::new(self.prepared, &self.device, self.run, options)?;
        self.files.load(&mut trainer)?;
        self.recorder.into_iter().for_each(|recorder| trainer.record_to(recorder));
        let mixing = trainer.mixing().cloned();
        let mut parts = 1;
        let outcome = trainer.train(&self.data, |progress| {
            if progress.parts > parts {
                parts = progress.parts;
                tell(Happening::Parts { step: progress.step, parts, mixing: mixing.clone() });
            }
            tell(Happening::Step(progress));
        });
        tell_recorded(trainer.finish_recording(), tell);
        let outcome = outcome?;
        self.files.save(&trainer)?.into_iter().for_each(|path| tell(Happening::Saved(path)));
        let input = InputReport::of(&self.data, self.own.as_ref(), outcome.time);
        Ok((outcome, input))
    }
}

fn tell_recorded(ended: Option<std::io::Result<u64>>, tell: &mut dyn FnMut(Happening)) {
    if let Some(ended) = ended {
        tell(Happening::Recorded(ended.map_err(|error| error.to_string())));
    }
}
