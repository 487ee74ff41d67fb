//! What a spec sets: the size and the values of all options.

use super::Setting;
use std::fmt;

/// What an option is if it is not given, and what it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingValue {
    /// A whole number, at least 1.
    Count(usize),
    /// A probability, at least 0 and less than 1.
    Rate(f32),
}

/// The size and the value of every option of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub(super) size: usize,
    pub(super) values: Vec<Setting>,
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
        }
    }
}

impl Settings {
    /// Pixels a side, positions or features.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The value of an option that counts.
    ///
    /// # Panics
    /// If the entry has no such option.
    pub fn count(&self, name: &str) -> usize {
        match self.value(name) {
            SettingValue::Count(count) => count,
            SettingValue::Rate(_) => panic!("{name} is a rate"),
        }
    }

    /// The value of an option that is a probability.
    ///
    /// # Panics
    /// If the entry has no such option.
    pub fn rate(&self, name: &str) -> f32 {
        match self.value(name) {
            SettingValue::Rate(rate) => rate,
            SettingValue::Count(_) => panic!("{name} is a count"),
        }
    }

    /// The shape of an image of the entry's size and channels.
    pub(super) fn image(&self) -> [usize; 3] {
        [self.size, self.size, self.count("channels")]
    }

    fn value(&self, name: &str) -> SettingValue {
        let setting = self.values.iter().find(|setting| setting.name == name);
        setting.unwrap_or_else(|| panic!("there is no option {name}")).default
    }
}
