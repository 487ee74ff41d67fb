//! Layers that change images by chance.

use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_graph::op::{Interpolation, Outside};
use plimsoll_model::Layer;
use plimsoll_model::layer::{Augmentation, AutoContrast, Interval, View};
use serde_json::Value;

/// What images are changed by that is not done in training here.
const UNKNOWN: [&str; 12] = [
    "AugMix",
    "CutMix",
    "Equalization",
    "MixUp",
    "RandAugment",
    "RandomColorJitter",
    "RandomElasticTransform",
    "RandomGaussianBlur",
    "RandomHue",
    "RandomPerspective",
    "RandomPosterization",
    "RandomSaturation",
];

/// Whether a class is one of these layers.
pub(super) fn is_one(class: &str) -> bool {
    let known = matches!(
        class,
        "RandomFlip" | "RandomRotation" | "RandomZoom" | "RandomTranslation" | "RandomShear" | "RandomCrop"
    );
    let colors = matches!(
        class,
        "RandomContrast"
            | "RandomBrightness"
            | "RandomGrayscale"
            | "RandomColorDegeneration"
            | "RandomInvert"
    );
    let others = matches!(class, "RandomSharpness" | "Solarization" | "RandomErasing" | "AutoContrast");
    known || colors || others || UNKNOWN.contains(&class)
}

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    // For boxes, which are no input of a model here.
    fields.skip(&["bounding_box_format", "data_format"]);
    if UNKNOWN.contains(&fields.class()) {
        fields.skip_all();
        fields.note(
            "it changes images in training, which is not done here; predictions are Keras's".to_string(),
        );
        return Ok(Augmentation::Unknown { class: fields.class().to_string() }.into());
    }
    let factor = |key: &str| interval(fields, key);
    let range = range(fields)?;
    let layer = match fields.class() {
        "AutoContrast" => return Ok(AutoContrast { value_range: range }.into()),
        "RandomFlip" => {
            let mode = fields.text("mode", "horizontal_and_vertical")?;
            let (horizontal, vertical) = (mode.contains("horizontal"), mode.contains("vertical"));
            Augmentation::Flip { horizontal, vertical }
        }
        "RandomRotation" => Augmentation::Rotation { factor: factor("factor")?, view: view(fields)? },
        "RandomZoom" => Augmentation::Zoom {
            height: factor("height_factor")?,
            width: fields.get("width_factor").map(|_| factor("width_factor")).transpose()?,
            view: view(fields)?,
        },
        "RandomTranslation" => Augmentation::Translation {
            height: factor("height_factor")?,
            width: factor("width_factor")?,
            view: view(fields)?,
        },
        "RandomShear" => {
            Augmentation::Shear { x: factor("x_factor")?, y: factor("y_factor")?, view: view(fields)? }
        }
        "RandomCrop" => Augmentation::Crop { height: fields.count("height")?, width: fields.count("width")? },
        "RandomContrast" => {
            let [low, high] = within(factor("factor")?, [0.0, 1.0]);
            Augmentation::Contrast { factor: [1.0 - low, 1.0 + high], range }
        }
        "RandomBrightness" => Augmentation::Brightness { factor: factor("factor")?, range },
        "RandomGrayscale" => Augmentation::Grayscale { factor: fields.number("factor", 0.5)? as f32 },
        "RandomColorDegeneration" => {
            Augmentation::ColorDegeneration { factor: within(factor("factor")?, [0.0, 1.0]), range }
        }
        "RandomInvert" => Augmentation::Invert { factor: within(factor("factor")?, [0.0, 1.0]), range },
        "RandomSharpness" => Augmentation::Sharpness { factor: within(factor("factor")?, [0.0, 1.0]), range },
        "Solarization" => Augmentation::Solarization {
            addition: factor("addition_factor")?,
            threshold: factor("threshold_factor")?,
            range,
        },
        _ => Augmentation::Erasing {
            factor: within(factor("factor")?, [0.0, 1.0]),
            scale: within(factor("scale")?, [0.0, 1.0]),
            fill: fill(fields)?,
            range,
        },
    };
    Ok(layer.into())
}

/// Two numbers in order, or one for both directions.
fn interval(fields: &Fields<'_>, key: &str) -> Result<Interval, KerasError> {
    let Some(value) = fields.get(key) else { return Ok([0.0; 2]) };
    let number = |value: &Value| value.as_f64().filter(|x| x.is_finite()).map(|x| x as f32);
    let interval = match value.as_array().map(Vec::as_slice) {
        Some([low, high]) => number(low).zip(number(high)).map(|(a, b)| [a.min(b), a.max(b)]),
        Some(_) => None,
        None => number(value).map(|one| [-one.abs(), one.abs()]),
    };
    interval.ok_or_else(|| fields.problem(format!("{key}={value} is no number or two")))
}

/// A share has no opposite direction.
fn within([low, high]: Interval, [lowest, _]: Interval) -> Interval {
    [low.max(lowest), high]
}

fn range(fields: &Fields<'_>) -> Result<Interval, KerasError> {
    match fields.get("value_range") {
        Some(_) => interval(fields, "value_range"),
        None => Ok([0.0, 255.0]),
    }
}

fn view(fields: &Fields<'_>) -> Result<View, KerasError> {
    let value = fields.number("fill_value", 0.0)? as f32;
    let outside = match fields.text("fill_mode", "reflect")? {
        "reflect" => Outside::Reflect,
        "wrap" => Outside::Wrap,
        "nearest" => Outside::Nearest,
        "constant" => Outside::Constant(value),
        other => return Err(fields.problem(format!("fill_mode={other} is not supported"))),
    };
    let interpolation = match fields.text("interpolation", "bilinear")? {
        "bilinear" => Interpolation::Bilinear,
        "nearest" => Interpolation::Nearest,
        other => return Err(fields.problem(format!("interpolation={other} is not supported"))),
    };
    Ok(View { interpolation, outside })
}

fn fill(fields: &Fields<'_>) -> Result<Option<Vec<f32>>, KerasError> {
    let Some(value) = fields.get("fill_value") else { return Ok(None) };
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let numbers = list.iter().map(|number| number.as_f64().map(|x| x as f32)).collect::<Option<Vec<_>>>();
    numbers.map(Some).ok_or_else(|| fields.problem(format!("fill_value={value} is no number")))
}
