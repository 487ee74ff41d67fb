//! Models as they are written on the command line.

use crate::failure::Failure;
use plimsoll::data;
use plimsoll::model::{Model, zoo};

/// The model a specification names. Where it leaves out the size and a data set has one, the data's size (and channels) is taken:
/// `train cnn --data digits` means `cnn@8,channels=1`.
pub fn find(specification: &str, data: Option<&str>) -> Result<Model, Failure> {
    Ok(zoo::find(&sized(specification, data))?)
}

fn sized(specification: &str, data: Option<&str>) -> String {
    let end = specification.find(['@', ',']).unwrap_or(specification.len());
    let (name, rest) = specification.split_at(end);
    let entry = zoo::entries().iter().find(|entry| entry.name == name);
    let (Some(entry), Some(shape)) = (entry, data.and_then(data::sample_shape)) else {
        return specification.to_string();
    };
    if rest.starts_with('@') {
        return specification.to_string();
    }
    match entry.unit {
        "features" => format!("{name}@{}{rest}", shape.elements()),
        "pixels" if !rest.contains("channels=") => {
            format!("{name}@{}{rest},channels={}", shape[0], shape.last())
        }
        "pixels" => format!("{name}@{}{rest}", shape[0]),
        _ => specification.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_fill_in_the_size() {
        let cases = [
            ("cnn", "cnn@8,channels=1"),
            ("cnn,classes=12", "cnn@8,classes=12,channels=1"),
            ("cnn@16", "cnn@16"),
            ("mlp", "mlp@64"),
            ("lstm", "lstm"),
            ("unknown", "unknown"),
        ];
        for (written, meant) in cases {
            assert_eq!(sized(written, Some("digits")), meant);
            assert_eq!(sized(written, Some("synthetic")), written);
            assert_eq!(sized(written, None), written);
        }
    }
}
