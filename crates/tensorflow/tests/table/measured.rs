//! What was measured in TensorFlow, and the same configurations predicted.

use crate::{models, saved};
use plimsoll_model::{Mode as Lowering, Model, zoo};
use plimsoll_tensorflow::{Device, Mode, Precision, Prediction, Setup, predict};
use plimsoll_train::{Loss, Optimizer};
use std::collections::HashMap;

/// One row of a table.
pub struct Row(HashMap<String, String>);

/// The rows of both `table.csv`.
pub fn table() -> Vec<Row> {
    let tables = [include_str!("../data/table.csv"), include_str!("../data/more/table.csv")];
    tables.into_iter().flat_map(rows).collect()
}

/// The rows of both `thresholds.csv`.
pub fn thresholds() -> Vec<Row> {
    let tables = [include_str!("../data/thresholds.csv"), include_str!("../data/more/thresholds.csv")];
    tables.into_iter().flat_map(rows).collect()
}

/// Reads a table with a line of names; no field contains a comma.
pub fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a line of names").split(',').collect();
    lines
        .map(|line| {
            Row(names.iter().map(|name| name.to_string()).zip(line.split(',').map(str::to_string)).collect())
        })
        .collect()
}

impl Row {
    /// A field.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A field that is a number.
    pub fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }

    /// Whether it is float32 training by a `tf.function`, the user's or Keras's.
    pub fn is_plain(&self) -> bool {
        matches!(self.text("mode"), "graph" | "keras")
            && matches!(self.text("precision"), "float32" | "")
            && self.number("accum") == 0
    }

    /// The configuration in a few words.
    pub fn name(&self) -> String {
        let [model, size, batch, opt, mode] =
            ["model", "size", "batch", "opt", "mode"].map(|name| self.text(name));
        let (precision, accum) = (self.text("precision"), self.text("accum"));
        format!("{model}@{size} b{batch} {opt} {precision} {mode} accum {accum}")
    }

    /// What this crate says about the configuration.
    pub fn predict(&self) -> Prediction {
        let graph =
            self.model().lower(self.number("batch") as usize, Lowering::Training).expect("a zoo model");
        predict(&graph, &self.setup())
    }

    fn setup(&self) -> Setup {
        let mode = self.text("mode");
        let mode = if mode == "keras_eager" { Mode::Eager } else { Mode::parse(mode).expect("a mode") };
        Setup {
            loss: Loss::parse(saved::loss(self.text("model"))).expect("a loss"),
            optimizer: Optimizer::parse(self.text("opt")).expect("an optimizer"),
            mode,
            precision: Precision::parse(self.text("precision")).unwrap_or(Precision::Float32),
            accumulate: self.number("accum").max(1) as u32,
            recompute: self.number("recompute") as u32,
            device: Device::Cpu,
        }
    }

    fn model(&self) -> Model {
        let size = self.number("size");
        let own = models::find(self.text("model"), size as usize);
        if let Some(model) = own.or_else(|| saved::model(self.text("model"), size)) {
            return model;
        }
        let name = match self.text("model") {
            "mlp_tfdoc" => "mlp".to_string(),
            "cnn_small" => format!("cnn@{size}"),
            "unet_small" => format!("unet@{size}"),
            "mobilenetv2" => format!("mobilenet_v2@{size}"),
            "mobilenetv3large" => format!("mobilenet_v3_large@{size}"),
            "efficientnetb0" => format!("efficientnet_b0@{size}"),
            "transformer_drop" => format!("transformer@{size},dropout=0.1"),
            other => format!("{other}@{size}"),
        };
        zoo::find(&name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
