//! Samples that are changed a little each time they are drawn, so that a model sees more than there is.
//!
//! What is drawn depends on the seed, the epoch and the sample alone: the same with any number of threads, and when a
//! run goes on.

use plimsoll_graph::philox::Philox;

/// How images may be changed. Without anything they stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Augment {
    /// Whether every other image is mirrored, left to right.
    pub flip: bool,
    /// The smallest part of each side that is cut out; 0.8 cuts out 80 % to 100 %, somewhere. Nothing leaves images
    /// whole.
    pub crop: Option<f64>,
    /// Brightness is multiplied by 1 plus or minus so much.
    pub brightness: f32,
    /// Differences from the mean brightness are multiplied by 1 plus or minus so much.
    pub contrast: f32,
    /// Differences between colours are multiplied by 1 plus or minus so much.
    pub saturation: f32,
}

/// What was drawn for one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Draw {
    pub(crate) flip: bool,
    /// Left, top, width and height of what is cut out, as shares.
    pub(crate) cut: [f64; 4],
    brightness: f32,
    contrast: f32,
    saturation: f32,
}

impl Augment {
    /// What is wrong with the settings, if something is.
    pub fn problem(&self) -> Option<String> {
        let crop = self.crop.filter(|crop| !(*crop > 0.0 && *crop <= 1.0));
        let shares =
            [("brightness", self.brightness), ("contrast", self.contrast), ("saturation", self.saturation)];
        let share = shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share));
        match (crop, share) {
            (Some(crop), _) => {
                Some(format!("crop = {crop} is no share of a side: it is more than 0 and at most 1"))
            }
            (None, Some((name, share))) => Some(format!("{name} = {share} is not between 0 and 1")),
            (None, None) => None,
        }
    }

    /// What is drawn for a sample in an epoch.
    pub(crate) fn draw(&self, seed: u64, epoch: u64, sample: usize) -> Draw {
        // A stream of its own for each, apart from those that weights and dropout use.
        let stream = (epoch << 40) ^ sample as u64 ^ (1 << 63);
        let mut random = Philox::new(seed ^ 0x6175_676d_656e_7421, stream);
        let flip = random.next_unit() < 0.5 && self.flip;
        let mut unit = || f64::from(random.next_unit());
        let smallest = self.crop.unwrap_or(1.0);
        let side = smallest + (1.0 - smallest) * unit();
        let cut = [(1.0 - side) * unit(), (1.0 - side) * unit(), side, side];
        let mut factor = |share: f32| 1.0 + share * (2.0 * unit() as f32 - 1.0);
        let (brightness, contrast) = (factor(self.brightness), factor(self.contrast));
        Draw { flip, cut, brightness, contrast, saturation: factor(self.saturation) }
    }
}

impl Draw {
    /// An image as it is.
    pub(crate) const NONE: Self =
        Self { flip: false, cut: [0.0, 0.0, 1.0, 1.0], brightness: 1.0, contrast: 1.0, saturation: 1.0 };

    pub(crate) fn changes_colours(&self) -> bool {
        (self.brightness, self.contrast, self.saturation) != (1.0, 1.0, 1.0)
    }

    /// The mean brightness of an image, where somebody wants to know.
    pub(crate) fn mean_of<T: Copy + Into<f32>>(&self, pixels: &[T], channels: usize, unit: f32) -> f32 {
        if self.contrast == 1.0 {
            return 0.0;
        }
        let colours = channels.min(3);
        let sum: f64 = pixels
            .chunks_exact(channels)
            .flat_map(|pixel| &pixel[..colours])
            .map(|&value| f64::from(value.into() * unit))
            .sum();
        (sum / (pixels.len() / channels * colours).max(1) as f64) as f32
    }

    /// A pixel of 0 to 255 with other brightness, contrast and saturation.
    pub(crate) fn changed(&self, pixel: [f32; 4], mean: f32) -> [f32; 4] {
        if !self.changes_colours() {
            return pixel;
        }
        let [red, green, blue, alpha] = pixel;
        let grey = 0.299 * red + 0.587 * green + 0.114 * blue;
        let one = |value: f32| {
            let value = grey + (value - grey) * self.saturation;
            let value = mean + (value - mean) * self.contrast;
            (value * self.brightness).clamp(0.0, 255.0)
        };
        [one(red), one(green), one(blue), alpha]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_seed_epoch_and_sample() {
        let augment =
            Augment { flip: true, crop: Some(0.5), brightness: 0.2, contrast: 0.2, saturation: 0.2 };
        assert_eq!(augment.draw(1, 2, 3), augment.draw(1, 2, 3));
        assert_ne!(augment.draw(1, 2, 3), augment.draw(1, 2, 4));
        assert_ne!(augment.draw(1, 2, 3), augment.draw(1, 3, 3));
        assert_ne!(augment.draw(1, 2, 3), augment.draw(2, 2, 3));
        let draws: Vec<Draw> = (0..1000).map(|sample| augment.draw(7, 0, sample)).collect();
        let flipped = draws.iter().filter(|draw| draw.flip).count();
        assert!((430..570).contains(&flipped), "{flipped}");
        for Draw { cut: [left, top, width, height], brightness, .. } in draws {
            assert!(width == height && (0.5..=1.0).contains(&width));
            assert!(left + width <= 1.0 && top + height <= 1.0 && (0.8..=1.2).contains(&brightness));
        }
        assert_eq!(Augment::default().draw(1, 2, 3), Draw::NONE);
    }

    #[test]
    fn colours_change_as_they_are_told() {
        let draw = Draw { saturation: 0.0, ..Draw::NONE };
        let [red, green, blue, alpha] = draw.changed([255.0, 0.0, 0.0, 9.0], 0.0);
        assert!((red - 76.245).abs() < 1e-3 && red == green && green == blue && alpha == 9.0);
        let draw = Draw { contrast: 2.0, ..Draw::NONE };
        assert_eq!(draw.changed([110.0, 100.0, 200.0, 0.0], 100.0), [120.0, 100.0, 255.0, 0.0]);
        assert_eq!(draw.mean_of(&[10u8, 20, 30, 0, 0, 0], 3, 1.0), 10.0);
    }
}
