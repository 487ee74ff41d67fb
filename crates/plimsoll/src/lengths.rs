//! One model on sequences of several lengths: one plan per length, all with the weights at the same offsets, in one
//! arena that is as large as the largest of them needs. Whatever the order of the lengths, nothing fragments.

use crate::lanes::best_lanes;
use crate::planning::Aim;
use crate::{Bytes, Job, JobError, Prepared};
use plimsoll_graph::{ElementType, Shape};
use plimsoll_model::Model;
use plimsoll_plan::Residents;

impl Job {
    /// Prepares the job for each length, within a budget if there is one. No lengths means the model's own.
    pub fn prepare_lengths(
        &self,
        lengths: &[usize],
        budget: Option<Bytes>,
    ) -> Result<Vec<Prepared>, JobError> {
        if let ([], Some(budget)) = (lengths, budget) {
            return Ok(vec![self.prepare_within(budget)?]);
        }
        let models = match lengths {
            [] => vec![self.model.clone()],
            _ => lengths.iter().map(|&length| with_length(&self.model, length)).collect::<Result<_, _>>()?,
        };
        let Some(budget) = budget else { return self.prepare_models(&models, Aim::WHATEVER) };
        // All lengths share an arena, so they have the same lanes.
        let mut all = best_lanes(self, budget, |job| job.prepare_models(&models, Aim::within(budget)))?;
        let largest = all.iter().enumerate().max_by_key(|(_, one)| one.peak()).map_or(0, |(index, _)| index);
        match all[largest].peak() <= budget {
            true => Ok(all),
            false => Err(all.swap_remove(largest).within(budget).expect_err("it is too large")),
        }
    }

    fn prepare_models(&self, models: &[Model], aim: Aim) -> Result<Vec<Prepared>, JobError> {
        let mut residents = Residents::default();
        let mut all: Vec<Prepared> = Vec::with_capacity(models.len());
        for model in models {
            let job = Job { model: model.clone(), ..self.clone() };
            let prepared = Prepared::new(&job, aim, &residents)?;
            residents = prepared.plan().residents(prepared.step().graph());
            all.push(match all.first() {
                None => prepared,
                Some(first) => prepared.judged_by(first)?,
            });
        }
        Ok(all)
    }
}

/// The model on samples of another length.
fn with_length(model: &Model, length: usize) -> Result<Model, JobError> {
    let mut model = model.clone();
    match &mut model.inputs[..] {
        [input] if input.element == ElementType::I32 && input.shape.rank() == 1 => {
            input.shape = Shape::new([length]);
            Ok(model)
        }
        _ => Err(JobError::NoLength { model: model.name }),
    }
}
