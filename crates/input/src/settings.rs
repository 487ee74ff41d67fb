//! What can be said about data that cannot be found out, as `data.toml` has it.

use crate::{Augment, InputError, PixelRange, Tokens};
use std::path::{Path, PathBuf};

/// What is said about data. Everything has a usual value.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What is to be predicted, of a table.
    pub target: Option<String>,
    /// What it is predicted from, of a table; all other columns where nothing is said.
    pub columns: Option<Vec<String>>,
    /// How much a row counts, of a table.
    pub weight: Option<String>,
    /// What stands for a missing value.
    pub missing: Missing,
    /// What text is cut into.
    pub tokens: Tokens,
    /// The most numbers that words have, those for no word and for words that are not known included.
    pub vocabulary: usize,
    /// How many tokens a sample of one long text has.
    pub window: Option<usize>,
    /// What black and white become; what the model seems to want, where nothing is said.
    pub pixels: Option<PixelRange>,
    /// What is subtracted from channels after that, and what they are divided by.
    pub mean: Vec<f32>,
    /// See `mean`.
    pub deviation: Vec<f32>,
    /// How images are changed each time they are drawn.
    pub augment: Augment,
    /// The share of samples that are kept apart, to judge the result by.
    pub validation: Option<f64>,
    /// What the result is judged by, in a file or folder of its own.
    pub test: Option<PathBuf>,
    /// This part of so many, counted from 0.
    pub shard: Option<(usize, usize)>,
    /// What happens to samples that cannot be read.
    pub on_bad_sample: OnBadSample,
    /// How many threads read.
    pub threads: usize,
    /// Decides which samples are kept apart. It is none of a run's: what a result is judged by stays the same.
    pub seed: u64,
}

/// What stands for a missing value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Missing {
    /// Nothing: a table with missing values is refused.
    #[default]
    Refused,
    /// This number.
    Is(f64),
}

/// What happens to samples that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadSample {
    /// The first of them ends the run.
    #[default]
    Stop,
    /// All samples are read once before the run, and those that cannot be are left out.
    Skip,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            target: None,
            columns: None,
            weight: None,
            missing: Missing::Refused,
            tokens: Tokens::default(),
            vocabulary: USUAL_VOCABULARY,
            window: None,
            pixels: None,
            mean: Vec::new(),
            deviation: Vec::new(),
            augment: Augment::default(),
            validation: None,
            test: None,
            shard: None,
            on_bad_sample: OnBadSample::Stop,
            threads: 1,
            seed: 0,
        }
    }
}

/// A `data.toml`, as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    path: PathBuf,
    test: Option<PathBuf>,
    validation: Option<f64>,
    target: Option<String>,
    columns: Option<Vec<String>>,
    weight: Option<String>,
    missing: Option<f64>,
    tokens: Option<Tokens>,
    vocabulary: Option<usize>,
    window: Option<usize>,
    pixels: Option<PixelRange>,
    #[serde(default)]
    mean: Vec<f32>,
    #[serde(default)]
    deviation: Vec<f32>,
    #[serde(default)]
    augment: Augment,
    shard: Option<[usize; 2]>,
    #[serde(default)]
    seed: u64,
}

/// As many words as people give `TextVectorization`.
const USUAL_VOCABULARY: usize = 20_000;

/// No such file is longer.
const LONGEST: u64 = 1 << 20;

impl Settings {
    /// Reads a `data.toml` over these settings; gives the path of the data, which is written as seen from that file.
    pub(crate) fn read(&self, path: &Path) -> Result<(PathBuf, Self), InputError> {
        let failed = |problem: String| InputError::file(path, problem);
        let file = crate::blob::open_file(path)?;
        if file.metadata().map_err(|error| failed(error.to_string()))?.len() > LONGEST {
            return Err(failed("it is too long to be settings".to_string()));
        }
        let text = std::io::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let written: Written =
            toml::from_str(&text).map_err(|error| failed(error.to_string().trim().replace('\n', " ")))?;
        let beside = |named: PathBuf| path.parent().unwrap_or(Path::new("")).join(named);
        let settings = Self {
            target: written.target.or(self.target.clone()),
            columns: written.columns,
            weight: written.weight,
            missing: written.missing.map_or(self.missing, Missing::Is),
            tokens: written.tokens.unwrap_or(self.tokens),
            vocabulary: written.vocabulary.unwrap_or(self.vocabulary),
            window: written.window.or(self.window),
            pixels: self.pixels.or(written.pixels),
            mean: written.mean,
            deviation: written.deviation,
            augment: written.augment,
            validation: self.validation.or(written.validation),
            test: written.test.map(beside),
            shard: written.shard.map(|[part, of]| (part, of)),
            seed: written.seed,
            ..self.clone()
        };
        settings.problem().map_or(Ok((beside(written.path), settings)), |problem| Err(failed(problem)))
    }

    /// What is wrong with the settings, if something is.
    pub fn problem(&self) -> Option<String> {
        let share = self.validation.filter(|share| !(*share > 0.0 && *share < 1.0));
        match (share, self.shard) {
            (Some(share), _) => {
                Some(format!("validation = {share} is no share: it is more than 0 and less than 1"))
            }
            (None, Some((part, of))) if part >= of => {
                Some(format!("there is no shard {part} of {of}: they are counted from 0"))
            }
            _ if self.window == Some(0) => Some("window = 0 has no tokens".to_string()),
            _ if self.vocabulary < 3 => Some(format!(
                "vocabulary = {} leaves no number for a word: 0 and 1 are taken",
                self.vocabulary
            )),
            _ if self.deviation.contains(&0.0) => Some("deviation = 0 divides by nothing".to_string()),
            _ => self.augment.problem(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(PathBuf, Settings), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.toml");
        std::fs::write(&path, text).unwrap();
        let read = Settings::default().read(&path).map_err(|error| error.to_string());
        read.map(|(path, settings)| (path.strip_prefix(folder.path()).unwrap().to_path_buf(), settings))
    }

    #[test]
    fn settings_are_read_from_a_few_lines() {
        let (path, settings) = read(
            "path = \"photos\"\nvalidation = 0.2\npixels = \"-1..1\"\n\n[augment]\nflip = true\ncrop = 0.8\n",
        )
        .unwrap();
        assert_eq!((path, settings.validation), (PathBuf::from("photos"), Some(0.2)));
        assert_eq!(settings.pixels, Some(PixelRange::Symmetric));
        assert_eq!(settings.augment, Augment { flip: true, crop: Some(0.8), ..Augment::default() });
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_name() {
        assert!(read("path = \"a\"\nflip = true").unwrap_err().contains("flip"));
        assert!(read("validation = 0.1").unwrap_err().contains("path"));
        assert!(read("path = \"a\"\nvalidation = 1.5").unwrap_err().contains("1.5 is no share"));
        assert!(read("path = \"a\"\nshard = [2, 2]").unwrap_err().contains("no shard 2 of 2"));
        assert!(read("path = \"a\"\n[augment]\ncrop = 0.0").unwrap_err().contains("crop = 0"));
        assert!(read("path = ").is_err());
    }
}
