//! PyTorch's settings in its own words, as in `PYTORCH_CUDA_ALLOC_CONF`:
//! `max_split_size_mb:128,garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,512:2,>:4]`.
//!
//! What PyTorch would refuse is refused, and so is what it knows and this allocator does not do: nobody should believe
//! in a setting that changes nothing.

use super::TorchOptions;
use plimsoll_trace::Bytes;

/// How many powers of two have divisions of their own: 1 MiB and less, 2 MiB, and so on to 32 GiB and more.
pub(super) const INTERVALS: usize = 16;

/// The smallest bound of a split, in MiB.
const SMALLEST_SPLIT: u64 = 20;

/// Settings that are not PyTorch's, or that this allocator does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum TorchSettingsError {
    #[error("`{key}` is not among the settings that are simulated: {}", KEYS.join(", "))]
    Unknown { key: String },
    #[error("`{key}` is not simulated: {reason}")]
    NotSimulated { key: String, reason: &'static str },
    #[error("`{value}` is no value for {key}: {wanted}")]
    Value { key: String, value: String, wanted: &'static str },
    #[error("`{text}` is no setting: it is written key:value")]
    NoValue { text: String },
}

/// The settings that are simulated.
const KEYS: [&str; 6] = [
    "max_split_size_mb",
    "max_non_split_rounding_mb",
    "garbage_collection_threshold",
    "roundup_power2_divisions",
    "expandable_segments",
    "backend",
];

impl TorchOptions {
    /// Reads settings; what is not named has its default.
    pub fn parse(text: &str) -> Result<Self, TorchSettingsError> {
        let mut options = Self::default();
        let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        for setting in split(&plain, ',').into_iter().filter(|setting| !setting.is_empty()) {
            let (key, value) = setting
                .split_once(':')
                .filter(|(key, value)| !key.is_empty() && !value.is_empty())
                .ok_or_else(|| TorchSettingsError::NoValue { text: setting.to_string() })?;
            options.set(key, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), TorchSettingsError> {
        let wrong = |wanted| wrong(key, value, wanted);
        match key {
            "max_split_size_mb" => {
                let mib = number(value).filter(|mib| *mib > SMALLEST_SPLIT);
                self.max_split = Some(mebibytes(mib.ok_or_else(|| wrong("a whole number above 20"))?));
            }
            "max_non_split_rounding_mb" => {
                let mib = number(value).filter(|mib| *mib >= SMALLEST_SPLIT);
                self.non_split_rounding =
                    Some(mebibytes(mib.ok_or_else(|| wrong("a whole number of at least 20"))?));
            }
            "garbage_collection_threshold" => {
                let share = value.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
                self.garbage_collection_threshold = Some(share.ok_or_else(|| wrong("between 0 and 1"))?);
            }
            "roundup_power2_divisions" => self.divisions = divisions(key, value)?,
            "expandable_segments" => {
                let is_true = value.to_ascii_lowercase().parse().ok();
                self.expandable = is_true.ok_or_else(|| wrong("True or False"))?;
            }
            "backend" if value == "native" => {}
            "backend" => {
                let reason = "only the native allocator is";
                return Err(TorchSettingsError::NotSimulated { key: setting(key, value), reason });
            }
            _ => return Err(unknown(key)),
        }
        Ok(())
    }
}

/// Settings that PyTorch knows, with why they are not simulated.
const BESIDE: [(&str, &str); 4] = [
    ("pinned_", "it is about memory of the host that a GPU reads"),
    ("release_lock_on_", "it is about threads that wait"),
    ("graph_capture_", "graphs that CUDA records are not replayed"),
    ("per_process_memory_fraction", "say the limit instead"),
];

fn unknown(key: &str) -> TorchSettingsError {
    match BESIDE.iter().find(|(start, _)| key.starts_with(start)) {
        Some((_, reason)) => TorchSettingsError::NotSimulated { key: key.to_string(), reason },
        None => TorchSettingsError::Unknown { key: key.to_string() },
    }
}

/// `4` for all sizes, or `[256:1,512:2,>:4]`: sizes in MiB up to which, and beyond all of which, so many divisions
/// count. The first also counts for what is smaller.
fn divisions(key: &str, value: &str) -> Result<[u8; INTERVALS], TorchSettingsError> {
    const WANTED: &str = "a power of two, or a list such as [256:1,512:2,>:4] of powers of two";
    let wrong = || wrong(key, value, WANTED);
    let Some(list) = value.strip_prefix('[') else {
        let all = number(value).filter(|count| count.is_power_of_two());
        return Ok([exponent(all.ok_or_else(wrong)?); INTERVALS]);
    };
    let mut divisions = [0; INTERVALS];
    let mut last = None;
    for pair in list.strip_suffix(']').ok_or_else(wrong)?.split(',') {
        let (size, count) = pair.split_once(':').ok_or_else(wrong)?;
        let count = number(count).filter(|count| *count == 0 || count.is_power_of_two()).ok_or_else(wrong)?;
        let count = exponent(count);
        if size == ">" {
            divisions[last.map_or(1, |last| last + 1)..].fill(count);
            continue;
        }
        let size = number(size).filter(|size| size.is_power_of_two()).ok_or_else(wrong)?;
        let index = (size.ilog2() as usize).min(INTERVALS - 1);
        if last.is_none() {
            divisions[..index].fill(count);
        }
        divisions[index] = count;
        last = Some(index);
    }
    Ok(divisions)
}

/// The exponent of a power of two; 0 for none.
fn exponent(count: u64) -> u8 {
    count.checked_ilog2().unwrap_or(0) as u8
}

/// Cuts at a letter outside of brackets.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == at && depth == 0
    })
    .collect()
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn mebibytes(mib: u64) -> Bytes {
    Bytes(mib.saturating_mul(1 << 20))
}

fn setting(key: &str, value: &str) -> String {
    format!("{key}:{value}")
}

fn wrong(key: &str, value: &str, wanted: &'static str) -> TorchSettingsError {
    TorchSettingsError::Value { key: key.to_string(), value: value.to_string(), wanted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_in_their_own_words() {
        assert_eq!(TorchOptions::parse("").unwrap(), TorchOptions::default());
        let all = "max_split_size_mb:128, garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,512:2,1024:4,>:8],\
                   expandable_segments:True,max_non_split_rounding_mb:40,backend:native";
        let options = TorchOptions::parse(all).unwrap();
        assert_eq!(options.max_split, Some(Bytes::mib(128)));
        assert_eq!(options.non_split_rounding, Some(Bytes::mib(40)));
        assert_eq!(options.garbage_collection_threshold, Some(0.8));
        assert_eq!(options.divisions, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3]);
        assert!(options.expandable);
        assert_eq!(TorchOptions::parse("roundup_power2_divisions:4").unwrap().divisions, [2; INTERVALS]);
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        let cases = [
            ("max_split_size:128", "`max_split_size` is not among"),
            ("pinned_use_cuda_host_register:True", "`pinned_use_cuda_host_register` is not simulated"),
            ("backend:cudaMallocAsync", "`backend:cudaMallocAsync` is not simulated"),
            ("max_split_size_mb:20", "`20` is no value for max_split_size_mb"),
            ("garbage_collection_threshold:1.5", "between 0 and 1"),
            ("garbage_collection_threshold:NaN", "between 0 and 1"),
            ("roundup_power2_divisions:3", "a power of two"),
            ("roundup_power2_divisions:[256:1", "a power of two"),
            ("roundup_power2_divisions:[300:1]", "a power of two"),
            ("expandable_segments:maybe", "True or False"),
            ("max_split_size_mb", "key:value"),
            ("max_split_size_mb:", "key:value"),
        ];
        for (text, expected) in cases {
            let error = TorchOptions::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
