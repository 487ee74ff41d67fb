//! The evidence of a job that could not have its memory, in the one form that failures and logs carry.

use crate::{JobError, OverBudget};
use plimsoll_exec::StepError;
use plimsoll_plan::Holding;
use plimsoll_trace::Label;
use plimsoll_trace::evidence::{Evidence, Holder, RefusedBy, VERSION};

impl JobError {
    /// Who asked for how much, who refused, and who holds what; nothing where it was not memory that was missing.
    pub fn evidence(&self) -> Option<Evidence> {
        match self {
            Self::OverBudget(over) => Some(over.evidence()),
            Self::OutOfMemory(refused) => Some(refused.evidence()),
            Self::Step { step, error: StepError::OutOfMemory(shortage) } => {
                Some(Evidence { step: Some(*step), ..shortage.evidence() })
            }
            _ => None,
        }
    }
}

impl OverBudget {
    /// The smallest plan that was found as a request, with everything that is live at its floor.
    pub fn evidence(&self) -> Evidence {
        let usage = &self.usage;
        let (layer, op) = (usage.worst_layer.clone(), usage.worst_op.clone());
        Evidence {
            version: VERSION,
            step: None,
            device: None,
            asked_by: Label { layer, op, ..Label::default() },
            requested: self.peak,
            limit: self.budget,
            refused_by: RefusedBy::Budget { floor: self.floor, least: self.least },
            holders: usage.live.iter().map(holder).collect(),
        }
    }
}

fn holder(Holding { value, again, layer, role, bytes }: &Holding) -> Holder {
    let (value, role, layer) = (value.clone(), role.to_string(), layer.clone());
    let label = Label { value, role, layer, op: String::new(), again: *again };
    Holder { label, bytes: *bytes }
}
