//! Layers of Keras that are refused, each with the reason and how to go on.

/// Why there is no such layer here, and a hint.
pub(super) fn reason(class: &str) -> Option<(&'static str, &'static str)> {
    const STRINGS: &str = "it reads strings, and inputs here are numbers";
    const OTHERS: &str = "it runs another library's model, which no file of Keras holds";
    const BEFORE: &str =
        "do this to the data before they come to the model, and save the model without the layer";
    const BEHIND: &str = "save what stands behind it, keras.Model(layer.output, model.outputs), and feed it what the layer gives: ids";
    const REWRITE: &str =
        "write it with layers of keras.layers or functions of keras.ops, and save the model again";
    Some(match class {
        "StringLookup" | "TextVectorization" => (STRINGS, BEHIND),
        "HashedCrossing" => ("it hashes pairs of features as strings", BEHIND),
        "Lambda" => ("it holds Python code, which is not run here", REWRITE),
        "TFSMLayer" | "FlaxLayer" | "JaxLayer" | "TorchModuleWrapper" => (OTHERS, REWRITE),
        "SpectralNormalization" => {
            ("it changes its kernel in each step of training, before the gradient is known", REWRITE)
        }
        "ContrastLimitedAdaptiveHistogramEqualization" => ("it equalizes histograms of images", BEFORE),
        "MelSpectrogram" | "STFTSpectrogram" => ("it needs Fourier transforms", BEFORE),
        "LSTMCell" | "GRUCell" | "SimpleRNNCell" | "StackedRNNCells" => {
            ("a cell is no layer by itself here", "put it into keras.layers.RNN")
        }
        "Pipeline" => ("it holds layers for tf.data", "put its layers into the model one by one"),
        "MaxNumBoundingBoxes" => ("it changes boxes, not images", BEFORE),
        "Wrapper" | "Layer" => ("it is a base for others to build on", REWRITE),
        _ => return None,
    })
}
