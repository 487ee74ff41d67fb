//! Reading specs such as `resnet50@224,classes=100`.

use super::{ENTRIES, Entry, Setting, SettingValue, Settings};

/// The largest count; more is a typing error.
const LARGEST: usize = 1 << 24;
/// The largest image or sequence.
const LARGEST_SIZE: usize = 1 << 16;

/// A spec that names no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ZooError {
    /// No model is called like this.
    #[error("there is no model `{name}`; did you mean {}?", quoted(.nearest))]
    UnknownName {
        /// What was asked for.
        name: String,
        /// The most similar names, best first.
        nearest: Vec<&'static str>,
    },
    /// The model has no such option.
    #[error("{model} has no option `{option}`; it has {}", quoted(.allowed))]
    UnknownOption {
        /// The model's name.
        model: &'static str,
        /// What was asked for.
        option: String,
        /// The options there are.
        allowed: Vec<&'static str>,
    },
    /// An option with a value it cannot have.
    #[error("{model}: `{value}` is no value for {option}, which is {wanted}; it has {}", quoted(.allowed))]
    BadValue {
        /// The model's name.
        model: &'static str,
        /// The option, or `size`.
        option: String,
        /// What was given.
        value: String,
        /// What it may be.
        wanted: String,
        /// The options there are.
        allowed: Vec<&'static str>,
    },
}

/// The entry and the settings a spec stands for.
pub(super) fn parse(spec: &str) -> Result<(&'static Entry, Settings), ZooError> {
    let mut parts = spec.split(',').map(str::trim);
    let head = parts.next().unwrap_or_default();
    let (name, size) = head.split_once('@').map_or((head, None), |(name, size)| (name, Some(size)));
    let entry = ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| unknown_name(name))?;
    let mut settings = Settings { size: entry.default_size, values: entry.options.to_vec() };
    if let Some(size) = size {
        settings.size = parse_size(entry, size)?;
    }
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let setting = settings.values.iter_mut().find(|setting| setting.name == key);
        let setting = setting.ok_or_else(|| ZooError::UnknownOption {
            model: entry.name,
            option: key.to_string(),
            allowed: allowed(entry),
        })?;
        setting.default = parse_value(entry, setting, value)?;
    }
    check_heads(entry, &settings)?;
    Ok((entry, settings))
}

fn parse_size(entry: &'static Entry, text: &str) -> Result<usize, ZooError> {
    let step = entry.size_step;
    let fits =
        |size: &usize| (entry.smallest_size..=LARGEST_SIZE).contains(size) && size.is_multiple_of(step);
    text.parse().ok().filter(fits).ok_or_else(|| {
        let multiple = if step == 1 { String::new() } else { format!(", a multiple of {step}") };
        let wanted = format!("{} from {} to {LARGEST_SIZE}{multiple}", entry.unit, entry.smallest_size);
        bad_value(entry, "size", text, wanted)
    })
}

fn parse_value(entry: &'static Entry, setting: &Setting, text: &str) -> Result<SettingValue, ZooError> {
    let (parsed, wanted) = match setting.default {
        SettingValue::Count(_) => {
            let count = text.parse().ok().filter(|count| (1..=LARGEST).contains(count));
            (count.map(SettingValue::Count), format!("a number from 1 to {LARGEST}"))
        }
        SettingValue::Rate(_) => {
            let rate = text.parse().ok().filter(|rate| (0.0..1.0).contains(rate));
            (rate.map(SettingValue::Rate), "a number at least 0 and less than 1".to_string())
        }
    };
    parsed.ok_or_else(|| bad_value(entry, setting.name, text, wanted))
}

/// Heads share the features, so they divide the width.
fn check_heads(entry: &'static Entry, settings: &Settings) -> Result<(), ZooError> {
    if !allowed(entry).contains(&"heads") {
        return Ok(());
    }
    let (heads, width) = (settings.count("heads"), settings.count("width"));
    match width.is_multiple_of(heads) {
        true => Ok(()),
        false => {
            Err(bad_value(entry, "heads", &heads.to_string(), format!("a divisor of the width {width}")))
        }
    }
}

fn bad_value(entry: &'static Entry, option: &str, value: &str, wanted: String) -> ZooError {
    let (option, value) = (option.to_string(), value.to_string());
    ZooError::BadValue { model: entry.name, option, value, wanted, allowed: allowed(entry) }
}

fn allowed(entry: &Entry) -> Vec<&'static str> {
    entry.options.iter().map(|option| option.name).collect()
}

fn unknown_name(name: &str) -> ZooError {
    let mut nearest: Vec<_> = ENTRIES.iter().map(|entry| (distance(name, entry.name), entry.name)).collect();
    nearest.sort();
    let nearest = nearest.into_iter().take(3).map(|(_, name)| name).collect();
    ZooError::UnknownName { name: name.to_string(), nearest }
}

/// How many letters must be added, removed or changed to get from one word to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_counted_in_letters() {
        for (from, to, wanted) in [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0)] {
            assert_eq!(distance(from, to), wanted, "{from} {to}");
        }
    }

    #[test]
    fn specs_set_size_and_options() {
        let (entry, settings) = parse("efficientnet_b0@64, classes=7,dropout=0").unwrap();
        assert_eq!((entry.name, settings.size()), ("efficientnet_b0", 64));
        assert_eq!((settings.count("classes"), settings.rate("dropout")), (7, 0.0));
        assert_eq!(settings.rate("drop_connect"), 0.2);
        assert_eq!(parse("resnet50").unwrap().1.size(), 224);
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        let Err(ZooError::UnknownName { nearest, .. }) = parse("resnet51") else { panic!() };
        assert_eq!(nearest[0], "resnet50");
        assert!(parse("").is_err());
    }

    #[test]
    fn bad_specs_are_explained() {
        for (spec, hint) in [
            ("mlp@0", "from 1 to"),
            ("resnet50@99999999999999999999", "from 32 to"),
            ("resnet50@", "pixels"),
            ("vgg16@31", "from 32"),
            ("unet@12", "multiple of 8"),
            ("mlp,channels=3", "`classes`"),
            ("mlp,classes=0", "from 1"),
            ("mlp,classes", "from 1"),
            ("mlp,classes=x", "from 1"),
            ("efficientnet_b0,dropout=1", "less than 1"),
            ("efficientnet_b0,dropout=NaN", "`drop_connect`"),
            ("transformer,heads=7", "divisor of the width 256"),
        ] {
            let message = parse(spec).unwrap_err().to_string();
            assert!(message.contains(hint), "{spec}: {message}");
        }
    }
}
