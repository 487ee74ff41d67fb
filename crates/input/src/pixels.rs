//! What becomes of the brightness of a pixel: a range, then perhaps a mean and a deviation for each channel.

/// What black and white become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum PixelRange {
    /// 0 and 255, as they are stored.
    #[serde(rename = "0..255")]
    Bytes,
    /// 0 and 1.
    #[serde(rename = "0..1")]
    Unit,
    /// -1 and 1.
    #[serde(rename = "-1..1")]
    Symmetric,
}

/// What becomes of pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Pixels {
    /// What black and white become.
    pub range: PixelRange,
    /// What is then subtracted from each channel; nothing, one number for all, or one each.
    pub mean: Vec<f32>,
    /// What it is then divided by.
    pub deviation: Vec<f32>,
}

impl PixelRange {
    /// What black and white become, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Bytes => "0 to 255",
            Self::Unit => "0 to 1",
            Self::Symmetric => "-1 to 1",
        }
    }

    fn scale(self) -> (f32, f32) {
        match self {
            Self::Bytes => (1.0, 0.0),
            Self::Unit => (1.0 / 255.0, 0.0),
            Self::Symmetric => (1.0 / 127.5, -1.0),
        }
    }
}

impl Pixels {
    /// A range alone.
    pub fn new(range: PixelRange) -> Self {
        Self { range, mean: Vec::new(), deviation: Vec::new() }
    }

    /// Factor and summand of a channel, for brightness from 0 to 255.
    pub(crate) fn line(&self, channel: usize) -> (f32, f32) {
        let (factor, summand) = self.range.scale();
        let of = |list: &[f32], none: f32| match list {
            [] => none,
            [all] => *all,
            each => each.get(channel).copied().unwrap_or(none),
        };
        let (mean, deviation) = (of(&self.mean, 0.0), of(&self.deviation, 1.0));
        (factor / deviation, (summand - mean) / deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_and_white_become_what_is_asked_for() {
        let pixels = Pixels { mean: vec![0.5, 0.25], deviation: vec![0.5], ..Pixels::new(PixelRange::Unit) };
        let of = |channel, value: f32| {
            let (factor, summand) = pixels.line(channel);
            value * factor + summand
        };
        assert!((of(0, 255.0) - 1.0).abs() < 1e-6 && (of(0, 0.0) + 1.0).abs() < 1e-6);
        assert!((of(1, 0.0) + 0.5).abs() < 1e-6);
        let (factor, summand) = Pixels::new(PixelRange::Symmetric).line(0);
        assert_eq!((255.0 * factor + summand, summand), (1.0, -1.0));
    }
}
