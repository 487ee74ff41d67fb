//! The levers: everything that brings the peak of a training step down, as one list.
//!
//! Whoever searches, explains, advises or refuses enumerates [`Lever::ALL`]. What a lever would change about a step as
//! it stands is a list of [`Change`] values, which a job carries out and a door words. No match over levers or changes
//! has a `_` arm, so the compiler names everybody who has to know a new one.

mod allowed;
mod change;

pub use allowed::Allowed;
pub use change::{Change, Choices};

use std::fmt;

/// Something that brings the peak of a training step down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lever {
    /// Updates as soon as they may be made.
    Ready,
    /// Results over inputs that nobody reads any more.
    InPlace,
    /// One graph instead of op by op.
    Graph,
    /// A pool that is taken at once.
    Region,
    /// Micro-batches whose gradients are added up.
    Accumulate,
    /// Values dropped and computed again.
    Recompute,
    /// Scratch for fewer threads.
    Threads,
    /// Two bytes an element.
    Precision,
    /// An optimizer that keeps less.
    Optimizer,
    /// A smaller batch.
    Batch,
}

/// What a lever costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// Nothing: there is no reason not to use it.
    Nothing,
    /// Time.
    Time,
    /// The numbers as they were written, for every model.
    Numbers,
}

/// When a step with a lever computes the numbers it has without, up to the order of floating-point additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// For every model.
    Always,
    /// For models whose samples do not see each other; batch statistics are a way to see others.
    WhereSamplesStayApart,
    /// For none.
    Never,
}

/// Who runs a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Plimsoll itself.
    Plimsoll,
    /// TensorFlow, as it is told.
    TensorFlow,
}

/// What is known about a lever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The word that people type.
    pub name: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    /// What others call it.
    pub also_called: &'static [&'static str],
    /// What it costs.
    pub cost: Cost,
    /// Whether the numbers stay the same.
    pub exactness: Exactness,
    /// What it takes to change anything; [`Lever::changes`] says it in code.
    pub needs: &'static str,
    /// Who has it; nobody where it is not built yet.
    pub homes: &'static [Home],
}

impl Lever {
    /// All levers, the mildest first.
    pub const ALL: [Lever; 10] = [
        Self::Ready,
        Self::InPlace,
        Self::Graph,
        Self::Region,
        Self::Accumulate,
        Self::Recompute,
        Self::Threads,
        Self::Precision,
        Self::Optimizer,
        Self::Batch,
    ];

    /// The levers of somebody, the mildest first.
    pub fn of(home: Home) -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.into_iter().filter(move |lever| lever.is_of(home))
    }

    /// The levers that need permission with some models at least, the mildest first.
    pub fn to_be_allowed() -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.into_iter().filter(|lever| lever.facts().exactness != Exactness::Always)
    }

    /// The lever of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lever| lever.name() == name)
    }

    /// What is known about it.
    pub const fn facts(self) -> Facts {
        match self {
            Self::Ready => Facts {
                name: "ready",
                what: "each weight is updated as soon as its gradient is complete, which is dropped then",
                also_called: &["optimizer in backward", "fused backward pass"],
                cost: Cost::Nothing,
                exactness: Exactness::Always,
                needs: "a whole batch: gradients that are added up wait for the last micro-batch",
                homes: &[Home::Plimsoll],
            },
            Self::InPlace => Facts {
                name: "in-place",
                what: "an op writes its result over an input that nobody reads any more",
                also_called: &["aliasing", "buffer donation"],
                cost: Cost::Nothing,
                exactness: Exactness::Always,
                needs: "nothing",
                homes: &[Home::Plimsoll],
            },
            Self::Graph => Facts {
                name: "graph",
                what: "the step runs as one graph instead of op by op",
                also_called: &["tf.function"],
                cost: Cost::Nothing,
                exactness: Exactness::Always,
                needs: "a step that runs op by op",
                homes: &[Home::TensorFlow],
            },
            Self::Region => Facts {
                name: "region",
                what: "the memory pool is taken at once instead of growing region by region",
                also_called: &["preallocation", "no memory growth"],
                cost: Cost::Nothing,
                exactness: Exactness::Always,
                needs: "a pool that grows",
                homes: &[Home::TensorFlow],
            },
            Self::Accumulate => Facts {
                name: "accumulate",
                what: "micro-batches whose gradients are added up and applied at once",
                also_called: &["gradient accumulation"],
                cost: Cost::Time,
                exactness: Exactness::WhereSamplesStayApart,
                needs: "more than one sample",
                homes: &[Home::Plimsoll, Home::TensorFlow],
            },
            Self::Recompute => Facts {
                name: "recompute",
                what: "values are dropped and computed again",
                also_called: &["rematerialization", "activation checkpointing", "gradient checkpointing"],
                cost: Cost::Time,
                exactness: Exactness::Always,
                needs: "nothing; in TensorFlow a model in which nothing is drawn at random and no averages move",
                homes: &[Home::Plimsoll, Home::TensorFlow],
            },
            Self::Threads => Facts {
                name: "threads",
                what: "fewer threads have scratch of their own, so that fewer work on ops that need some",
                also_called: &["intra-op parallelism"],
                cost: Cost::Time,
                exactness: Exactness::Always,
                needs: "more than one thread",
                homes: &[Home::Plimsoll],
            },
            Self::Precision => Facts {
                name: "precision",
                what: "layers compute with two bytes an element",
                also_called: &["mixed precision", "half precision"],
                cost: Cost::Numbers,
                exactness: Exactness::Never,
                needs: "float32 as written, and a device that is made for less",
                homes: &[Home::TensorFlow],
            },
            Self::Optimizer => Facts {
                name: "optimizer",
                what: "an optimizer that keeps less",
                also_called: &["fewer optimizer slots"],
                cost: Cost::Numbers,
                exactness: Exactness::Never,
                needs: "an optimizer that keeps something for each weight",
                homes: &[Home::Plimsoll, Home::TensorFlow],
            },
            Self::Batch => Facts {
                name: "batch",
                what: "a smaller batch",
                also_called: &["batch size"],
                cost: Cost::Numbers,
                exactness: Exactness::Never,
                needs: "more than one sample",
                homes: &[Home::Plimsoll, Home::TensorFlow],
            },
        }
    }

    /// The word that people type.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether somebody has it.
    pub fn is_of(self, home: Home) -> bool {
        self.facts().homes.contains(&home)
    }

    /// Whether a search may use it unasked, where samples stay apart or do not.
    pub fn is_exact(self, samples_stay_apart: bool) -> bool {
        match self.facts().exactness {
            Exactness::Always => true,
            Exactness::WhereSamplesStayApart => samples_stay_apart,
            Exactness::Never => false,
        }
    }
}

impl fmt::Display for Lever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_single_words_that_come_back() {
        let mut words = BTreeSet::new();
        for lever in Lever::ALL {
            assert_eq!(Lever::parse(lever.name()), Some(lever));
            assert!(!lever.name().contains([' ', ',']), "{lever} cannot be typed in a list");
            let all = lever.facts().also_called.iter().copied().chain([lever.name()]);
            all.for_each(|word| assert!(words.insert(word), "{word} means two levers"));
        }
        assert_eq!(Lever::parse("patience"), None);
    }

    #[test]
    fn levers_stand_in_the_order_of_what_they_cost() {
        assert!(Lever::ALL.is_sorted_by_key(|lever| lever.facts().cost));
        assert!(Lever::ALL.is_sorted());
        for facts in Lever::ALL.map(Lever::facts) {
            assert_eq!(facts.cost == Cost::Numbers, facts.exactness == Exactness::Never, "{facts:?}");
        }
    }
}
