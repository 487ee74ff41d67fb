//! Leaving out branches at random (Huang et al. 2016), as in ConvNeXt.

use super::{Context, Dropout, Lowered, Signal};
use serde::{Deserialize, Serialize};

/// In training, zeros in the place of so many whole samples; the others grow to make up for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StochasticDepth {
    /// The probability of dropping a sample.
    pub drop_path_rate: f32,
}

impl StochasticDepth {
    pub(super) fn kind(&self) -> &'static str {
        "stochastic_depth"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let mut noise = vec![Some(1); at.shape(x.value).rank()];
        noise.first_mut().into_iter().for_each(|batch| *batch = None);
        Dropout { rate: self.drop_path_rate, noise_shape: Some(noise) }.lower(at, inputs)
    }
}
