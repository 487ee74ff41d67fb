//! Which levers a search may use.

use super::Lever;

/// Which levers a search may use: those that leave the numbers the same, unless they are withheld, and those that
/// change them where they are allowed by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    by_name: Levers,
    withheld: Levers,
}

/// A set of levers, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Levers(u32);

impl Allowed {
    /// The levers that leave the numbers the same.
    pub const EXACT: Self = Self { by_name: Levers(0), withheld: Levers(0) };

    /// The same and one that may change the numbers.
    #[must_use]
    pub fn and(self, lever: Lever) -> Self {
        Self { by_name: self.by_name.with(lever), withheld: self.withheld.without(lever) }
    }

    /// The same without one, whether it changes the numbers or not.
    #[must_use]
    pub fn without(self, lever: Lever) -> Self {
        Self { by_name: self.by_name.without(lever), withheld: self.withheld.with(lever) }
    }

    /// Whether a lever may be used with a model whose samples stay apart, or do not.
    pub fn may(self, lever: Lever, samples_stay_apart: bool) -> bool {
        !self.is_withheld(lever) && (self.by_name.contains(lever) || lever.is_exact(samples_stay_apart))
    }

    /// Whether a lever is not wanted.
    pub fn is_withheld(self, lever: Lever) -> bool {
        self.withheld.contains(lever)
    }
}

impl FromIterator<Lever> for Allowed {
    fn from_iter<T: IntoIterator<Item = Lever>>(levers: T) -> Self {
        levers.into_iter().fold(Self::EXACT, Self::and)
    }
}

impl Levers {
    fn with(self, lever: Lever) -> Self {
        Self(self.0 | 1 << lever as u32)
    }

    fn without(self, lever: Lever) -> Self {
        Self(self.0 & !(1 << lever as u32))
    }

    fn contains(self, lever: Lever) -> bool {
        self.0 & 1 << lever as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exact_needs_no_permission_and_the_rest_does() {
        for lever in Lever::ALL {
            for apart in [false, true] {
                assert_eq!(Allowed::EXACT.may(lever, apart), lever.is_exact(apart), "{lever} {apart}");
                assert!(Allowed::EXACT.and(lever).may(lever, apart), "{lever}");
                assert!(!Allowed::EXACT.and(lever).without(lever).may(lever, apart), "{lever}");
            }
        }
    }

    #[test]
    fn levers_are_allowed_one_by_one() {
        let allowed: Allowed = [Lever::Batch, Lever::Optimizer].into_iter().collect();
        assert_eq!(allowed, Allowed::EXACT.and(Lever::Optimizer).and(Lever::Batch));
        assert!(!allowed.may(Lever::Precision, true) && !allowed.may(Lever::Accumulate, false));
    }
}
