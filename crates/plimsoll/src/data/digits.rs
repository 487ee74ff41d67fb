//! Handwritten digits: 1,797 small images inside the binary, so that a first training run needs no download.
//!
//! Source, licence (CC BY 4.0: E. Alpaydin and C. Kaynak, 1998) and the packed form are described in `data/ORIGIN.md`
//! and `data/make_digits.py`. Split and order are fixed in the file: the same images, in the same order, on every
//! machine.

use super::{DataError, Dataset, Elements, Field, FieldKind, Samples, Wanted};
use plimsoll_graph::TensorType;

const PACKED: &[u8] = include_bytes!("../../data/digits.packed");

const TRAIN_IMAGES: usize = 1437;
const TEST_IMAGES: usize = 360;
const PIXELS: usize = 64;
const CLASSES: usize = 10;

/// Height, width and channels of one image.
pub(super) const IMAGE_SHAPE: [usize; 3] = [8, 8, 1];

/// The digits as a data set, if the model takes such images and tells them apart.
pub(super) fn open(wanted: &Wanted) -> Result<Dataset, DataError> {
    let name = "digits".to_string();
    let fields = wanted.fields();
    let targets = wanted.slots.iter().find(|slot| slot.kind == FieldKind::Target);
    let Some(targets) = targets.filter(|_| takes_images(&fields)) else {
        let wanted: Vec<String> = fields.iter().map(Field::to_string).collect();
        let found = "images of f32[8,8,1] (or f32[64]) and labels of i32[]".to_string();
        return Err(DataError::Mismatch { name, wanted: wanted.join(" and "), found });
    };
    if targets.below < CLASSES {
        return Err(DataError::Classes { name, found: CLASSES, wanted: targets.below });
    }
    let Digits { mut train, mut test } = digits();
    // Weights are for others to add.
    let own: Vec<Field> = fields.into_iter().filter(|field| field.kind != FieldKind::SampleWeight).collect();
    (train.fields, test.fields) = (own.clone(), own);
    Ok(Dataset { name, train: Box::new(train), test: Some(Box::new(test)) })
}

/// Whether a model takes images of this shape, as they are or laid out flat, and one label each.
fn takes_images(fields: &[Field]) -> bool {
    let flat = TensorType::f32([PIXELS]);
    let [input, target, ..] = fields else { return false };
    let single = |kind| fields.iter().filter(|field| field.kind == kind).count() == 1;
    let image = input.is(&TensorType::f32(IMAGE_SHAPE)) || input.is(&flat);
    single(FieldKind::Input) && single(FieldKind::Target) && image && target.is(&TensorType::i32([]))
}

/// Unpacks the digits.
fn digits() -> Digits {
    let mut records = PACKED;
    let train = unpack(&mut records, TRAIN_IMAGES);
    let test = unpack(&mut records, TEST_IMAGES);
    debug_assert!(records.is_empty(), "{} bytes follow the last image", records.len());
    Digits { train, test }
}

/// The two parts of the data set; every label has the same share in both.
#[derive(Clone, Debug, PartialEq)]
struct Digits {
    /// 1,437 images to learn from.
    train: DigitImages,
    /// 360 images that training must not see.
    test: DigitImages,
}

/// Images with their labels.
#[derive(Clone, Debug, PartialEq)]
struct DigitImages {
    /// Ink from 0.0 (none) to 1.0, of shape `[count, 8, 8, 1]`, the last axis fastest.
    images: Vec<f32>,
    /// The digit each image shows, 0 to 9.
    labels: Vec<i32>,
    /// The image, then the label, in the shapes that the model takes them.
    fields: Vec<Field>,
}

impl Samples for DigitImages {
    fn count(&self) -> usize {
        self.labels.len()
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn write(&self, _: usize, sample: usize, into: Elements<'_>) {
        match into {
            Elements::F32(into) => into.copy_from_slice(&self.images[sample * PIXELS..][..PIXELS]),
            Elements::I32(into) => into.fill(self.labels[sample]),
        }
    }
}

/// Unpacks `count` records and moves `records` past them.
fn unpack(records: &mut &[u8], count: usize) -> DigitImages {
    let (images, labels) = (Vec::with_capacity(count * PIXELS), Vec::with_capacity(count));
    let mut part = DigitImages { images, labels, fields: Vec::new() };
    for _ in 0..count {
        let (head, rest) = records.split_first_chunk::<9>().expect("the file holds every image");
        let [label, mask @ ..] = *head;
        let mask = u64::from_le_bytes(mask);
        let (inked, rest) = rest.split_at((mask.count_ones() as usize).div_ceil(2));
        part.labels.push(i32::from(label));
        part.images.extend(pixels(mask, inked));
        *records = rest;
    }
    part
}

/// The pixels of one image: 0 where `mask` has no bit, else the next 4 bits of `inked`, plus 1, in sixteenths.
fn pixels(mask: u64, inked: &[u8]) -> impl Iterator<Item = f32> {
    let mut levels = inked.iter().flat_map(|pair| [pair & 15, pair >> 4]);
    (0..PIXELS).map(move |place| match mask >> place & 1 {
        0 => 0.0,
        _ => f32::from(levels.next().expect("4 bits for every bit of the mask") + 1) / 16.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `make_digits.py` printed about one part.
    struct Printed {
        count: usize,
        pixel_sum: u64,
        by_place: u64,
        labels: [usize; 10],
    }

    const TRAIN: Printed = Printed {
        count: 1437,
        pixel_sum: 448_992,
        by_place: 14_538_448,
        labels: [142, 146, 142, 146, 145, 145, 145, 143, 139, 144],
    };
    const TEST: Printed = Printed {
        count: 360,
        pixel_sum: 112_726,
        by_place: 3_683_923,
        labels: [36, 36, 35, 37, 36, 37, 36, 36, 35, 36],
    };

    #[test]
    fn both_parts_are_what_the_script_packed() {
        let digits = digits();
        for (part, printed) in [(&digits.train, TRAIN), (&digits.test, TEST)] {
            let levels: Vec<u64> = part.images.iter().map(|pixel| (pixel * 16.0) as u64).collect();
            let by_place =
                levels.chunks(PIXELS).flat_map(|image| image.iter().zip(1..)).map(|(level, n)| level * n);
            let mut labels = [0; 10];
            part.labels.iter().for_each(|&label| labels[label as usize] += 1);

            assert_eq!(part.count(), printed.count);
            assert_eq!(part.images.len(), printed.count * IMAGE_SHAPE.iter().product::<usize>());
            assert_eq!(levels.iter().sum::<u64>(), printed.pixel_sum);
            assert_eq!(by_place.sum::<u64>(), printed.by_place);
            assert_eq!(labels, printed.labels);
        }
    }

    #[test]
    fn pixels_are_sixteenths_from_0_to_1() {
        let Digits { train, test } = digits();
        for pixel in train.images.into_iter().chain(test.images) {
            assert!((0.0..=1.0).contains(&pixel) && (pixel * 16.0).fract() == 0.0, "{pixel}");
        }
    }

    #[test]
    fn an_image_is_unpacked_by_its_mask() {
        let mask = 1 << 63 | 1 << 9 | 1;
        let image: Vec<f32> = pixels(mask, &[0xF0, 0x07]).collect();
        let mut expected = [0.0; PIXELS];
        (expected[0], expected[9], expected[63]) = (1.0 / 16.0, 1.0, 0.5);
        assert_eq!(image, expected);
    }
}
