//! What a plan is for: the kernels that will run it, how fast they are, and how a device's memory is cut.

use crate::{Kernels, PlanError, Profile};
use plimsoll_trace::{Alignment, Bytes};
use std::sync::Arc;

/// What a plan is for. A plan that was proved for one target says nothing about another.
#[derive(Clone, Debug)]
pub struct Target {
    /// What running an op takes.
    pub kernels: Arc<dyn Kernels>,
    /// How fast the kernels are; decides between plans that fit.
    pub profile: Profile,
    /// What every offset and every size is a multiple of.
    pub alignment: Alignment,
    /// No buffer crosses a multiple of it; nothing where the arena is one piece.
    pub page: Option<Bytes>,
    /// No buffer is larger than what a kernel can be given at once; nothing where there is no such limit.
    pub binding: Option<Bytes>,
}

impl Target {
    /// Kernels of unknown speed on memory that is one piece.
    pub fn new(kernels: impl Kernels + 'static) -> Self {
        Self {
            kernels: Arc::new(kernels),
            profile: Profile::default(),
            alignment: Alignment::CACHE_LINE,
            page: None,
            binding: None,
        }
    }

    /// Whether a plan for the other target is one for this one, too. How fast they are makes no difference to that.
    pub fn check_same(&self, other: &Self) -> Result<(), PlanError> {
        let [here, there] = [self, other].map(Self::facts);
        match here.into_iter().zip(there).find(|((_, wanted), (_, found))| wanted != found) {
            None => Ok(()),
            Some(((what, wanted), (_, found))) => Err(PlanError::OtherTarget { what, found, wanted }),
        }
    }

    /// All that plans depend on, in words.
    pub fn facts(&self) -> [(&'static str, String); 4] {
        let limit = |limit: Option<Bytes>| limit.map_or("none".to_string(), |bytes| bytes.0.to_string());
        [
            ("kernels", self.kernels.name()),
            ("alignment", self.alignment.bytes().to_string()),
            ("page", limit(self.page)),
            ("binding", limit(self.binding)),
        ]
    }
}
