//! The measured models that Keras has written down, in `data/more/models`.

use flate2::read::GzDecoder;
use plimsoll_import::keras;
use plimsoll_model::Model;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Another folder with models, beside a table that is not ours.
pub static FURTHER: OnceLock<PathBuf> = OnceLock::new();

/// The model of that name, if there is a file of it.
pub fn model(name: &str, size: u64) -> Option<Model> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/more/models");
    let open = |folder: &Path| File::open(folder.join(format!("{name}_{size}.json.gz"))).ok();
    let file = open(&own).or_else(|| open(FURTHER.get()?))?;
    let mut json = Vec::new();
    GzDecoder::new(file).read_to_end(&mut json).expect("a whole file");
    Some(keras::from_bytes(json, None).unwrap_or_else(|error| panic!("{name}: {error}")).model)
}

/// The loss that a model was measured with.
pub fn loss(model: &str) -> &'static str {
    let losses = include_str!("../data/more/losses.csv").lines();
    let mut of_model = losses.filter_map(|line| line.split_once(',')).filter(|(name, _)| *name == model);
    of_model.next().map_or("sparse_categorical_crossentropy", |(_, loss)| loss)
}
