//! Models of Keras: all of `keras.applications` have Keras's parameters, and models of every layer compute what Keras
//! computes.
//!
//! `keras/make_keras.py` has made the data; see `keras/ORIGIN.md`.

#[path = "keras/rule.rs"]
mod rule;
#[path = "keras/run.rs"]
mod run;

use flate2::read::GzDecoder;
use plimsoll_graph::{Graph, OpKind, Role, ValueId};
use plimsoll_import::keras::{self, Keras};
use plimsoll_model::{Mode, NodeRef, zoo};
use plimsoll_state::Contents;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Counts {
    parameters: usize,
    trainable: usize,
}

#[derive(Deserialize)]
struct Case {
    #[serde(flatten)]
    counts: Counts,
    /// What kernels are multiplied by.
    #[serde(default = "one")]
    gain: f64,
    /// Whether inputs are pixels.
    #[serde(default)]
    pixels: bool,
    /// Of a batch of two, one list an output.
    predictions: Vec<Vec<f32>>,
    /// By the path of a weight or the name of an input, where they are compared.
    gradients: Option<BTreeMap<String, Vec<f32>>>,
    /// What it gives in training, where chance has no choice.
    trained: Option<Vec<Vec<f32>>>,
    /// Of the same batch once more, where something goes on from batch to batch.
    next: Option<Vec<Vec<f32>>>,
}

fn one() -> f64 {
    1.0
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keras")
}

fn golden<T: DeserializeOwned>(kind: &str) -> BTreeMap<String, T> {
    serde_json::from_slice(&std::fs::read(folder().join(format!("{kind}.json"))).unwrap()).unwrap()
}

fn open(name: &str, size: Option<usize>) -> Keras {
    let packed = std::fs::read(folder().join(format!("{name}.json.gz"))).unwrap();
    let mut text = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
    keras::from_bytes(text, size).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn check_counts(name: &str, keras: &Keras, wanted: &Counts) {
    let graph = keras.model.lower(1, Mode::Inference).unwrap();
    // States that go on from batch to batch are no weights.
    let state = |id: &ValueId| graph.value(*id).name.contains("/rnn_state_");
    let states: usize = graph.persistents().filter(state).map(|id| graph.tensor(id).shape.elements()).sum();
    let all = graph.elements_of(Role::Parameter) + graph.elements_of(Role::Statistic) - states;
    assert_eq!((all, graph.elements_of(Role::Parameter)), (wanted.parameters, wanted.trainable), "{name}");
}

#[test]
fn all_applications_have_keras_s_parameters() {
    let golden = golden::<Counts>("applications");
    assert!(golden.len() >= 40);
    for (name, counts) in &golden {
        let keras = open(&format!("applications/{name}"), Some(224));
        check_counts(name, &keras, counts);
        assert_eq!(keras.notes, [""; 0], "{name}");
    }
}

/// One test a model, so that they run side by side and failures have names.
macro_rules! families {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            check_family($name);
        })*

        #[test]
        fn every_family_has_a_test() {
            let tested = [$($name),*];
            for name in golden::<Case>("families").keys() {
                assert!(tested.contains(&name.as_str()), "{name}");
            }
        }
    };
}

families! {
    mobilenet "MobileNet" mobilenet_v2 "MobileNetV2" mobilenet_v3 "MobileNetV3Small" efficientnet "EfficientNetB0"
    efficientnet_v2 "EfficientNetV2B0" densenet "DenseNet121" inception_v3 "InceptionV3" inception_resnet_v2 "InceptionResNetV2"
    xception "Xception" resnet "ResNet50" resnet_v2 "ResNet50V2" vgg "VGG16" convnext "ConvNeXtTiny" nasnet "NASNetMobile"
}

fn check_family(name: &str) {
    let golden = golden::<Case>("families");
    let case = &golden[name];
    let keras = open(&format!("families/{name}"), None);
    check_counts(name, &keras, &case.counts);
    let found = run::predict(&keras, 2, case.gain, case.pixels);
    compare(name, &found, &case.predictions, 1e-4);
    // The samples differ, so that an answer that does not depend on them would be noticed.
    let (first, second) = case.predictions[0].split_at(case.predictions[0].len() / 2);
    assert!(first.iter().zip(second).any(|(a, b)| (a - b).abs() > 1e-3), "{name} tells nothing");
}

fn compare(name: &str, found: &[Vec<f32>], wanted: &[Vec<f32>], allowed: f32) {
    assert_eq!(found.len(), wanted.len(), "{name}");
    for (output, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert_eq!(found.len(), wanted.len(), "{name} {output}");
        let largest = wanted.iter().fold(1.0f32, |largest, x| largest.max(x.abs()));
        for (position, (a, b)) in found.iter().zip(wanted).enumerate() {
            assert!((a - b).abs() <= allowed * largest, "{name} {output} at {position}: {a}, not {b}");
        }
    }
}

#[test]
fn every_layer_computes_what_keras_computes() {
    let golden = golden::<Case>("layers");
    let mut failures = Vec::new();
    for (name, case) in &golden {
        let checked = std::panic::catch_unwind(|| {
            let keras = open(&format!("layers/{name}"), None);
            check_counts(name, &keras, &case.counts);
            compare(name, &run::predict(&keras, 2, case.gain, case.pixels), &case.predictions, 1e-5);
            let trained = case.trained.iter();
            trained.for_each(|all| compare(name, &run::trained(&keras, 2, case.pixels), all, 1e-4));
            let next = case.next.iter();
            next.for_each(|wanted| compare(name, &run::predict_again(&keras, 2), wanted, 1e-5));
            case.gradients.iter().for_each(|wanted| check_gradients(name, &keras, case.pixels, wanted));
        });
        failures.extend(checked.is_err().then_some(name));
    }
    assert!(failures.is_empty(), "{failures:?}");
}

fn check_gradients(name: &str, keras: &Keras, pixels: bool, wanted: &BTreeMap<String, Vec<f32>>) {
    let found = run::gradients(keras, 2, pixels);
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{name}");
    for (of, wanted) in wanted {
        compare(&format!("{name}: {of}"), &[found[of].clone()], std::slice::from_ref(wanted), 2e-5);
    }
}

#[test]
fn only_batch_normalization_lets_samples_see_each_other() {
    let layers = golden::<Case>("layers").into_keys().map(|name| format!("layers/{name}"));
    let families = golden::<Case>("families").into_keys().map(|name| format!("families/{name}"));
    for name in layers.chain(families) {
        let model = open(&name, None).model;
        let Ok(graph) = model.lower(2, Mode::Training) else {
            assert_eq!(name, "layers/unknown_changes");
            continue;
        };
        let normalizes = graph.ops().iter().any(|op| matches!(op.kind, OpKind::BatchNorm(_)));
        let masked = (0..graph.outputs().len()).any(|output| graph.beside(output).mask.is_some());
        let counts = masked.then_some("the mean over what is not padding");
        let mixing = model.mixing().unwrap();
        if model.is_stateful() {
            assert!(mixing.is_some(), "{name}");
            continue;
        }
        assert_eq!(mixing.map(|mixing| mixing.op), normalizes.then_some("batch_norm").or(counts), "{name}");
    }
}

#[test]
fn an_imported_resnet50_is_the_zoo_s() {
    for mode in [Mode::Training, Mode::Inference] {
        let ours = zoo::find("resnet50@32,classes=10").unwrap().lower(4, mode).unwrap();
        let mut theirs = open("families/ResNet50", None).model.lower(4, mode).unwrap();
        // Only the input is called otherwise: as the file calls it.
        let input = theirs.find("input_layer").expect("that is Keras's name for it");
        theirs.rename(input, "x");
        same_graphs(&ours, &theirs);
    }
}

fn same_graphs(ours: &Graph, theirs: &Graph) {
    for (a, b) in ours.values().iter().zip(theirs.values()) {
        assert_eq!(a, b);
    }
    assert!(ours == theirs);
}

/// What a file holds and does.
#[derive(Deserialize)]
struct File {
    predictions: Vec<Vec<f32>>,
}

#[test]
fn weights_of_files_are_read_and_written_back() {
    let folder = folder().join("files");
    let scratch = tempfile::tempdir().unwrap();
    for (name, file) in golden::<File>("files") {
        let keras = keras::read(&folder.join(&name), None).unwrap_or_else(|error| panic!("{name}: {error}"));
        keras.check_weights().unwrap();
        compare(
            &name,
            &run::predict_with(&keras, 2, false, |at, _| read(&keras, at)),
            &file.predictions,
            1e-5,
        );
        let copy = scratch.path().join(&name);
        keras.write(&copy, &keras.state(), &keras, &[]).unwrap();
        let again = keras::read(&copy, None).unwrap();
        assert_eq!((&again.model, &again.weights), (&keras.model, &keras.weights), "{name}");
        for at in 0..keras.weights.len() {
            assert_eq!(read(&again, at), read(&keras, at), "{name} {}", keras.weights[at].name);
        }
    }
}

/// Any range of elements is the same as in the whole, across rows of all axes.
#[test]
fn weights_are_read_in_pieces() {
    let keras = keras::read(&folder().join("files/classifier.keras"), None).unwrap();
    for (position, tensor) in keras.state().tensors.iter().enumerate() {
        let whole: Vec<u8> = read(&keras, position).iter().flat_map(|x| x.to_le_bytes()).collect();
        for length in [4, 8, 12, 20, 52, 400] {
            for start in (0..whole.len()).step_by(length) {
                let end = (start + length).min(whole.len());
                let mut piece = vec![0; end - start];
                keras.read(position, start as u64, &mut piece).unwrap();
                assert_eq!(piece, whole[start..end], "{} {start}", tensor.name);
            }
        }
        keras.read(position, 4, &mut vec![0; whole.len()]).unwrap_err();
        keras.read(position, 2, &mut [0; 4]).unwrap_err();
    }
}

fn read(keras: &Keras, position: usize) -> Vec<f32> {
    let mut into = vec![f32::NAN; keras.weights[position].shape.iter().product()];
    keras.read_weight(position, &mut into).unwrap();
    into
}

/// As Keras 2 writes it: calls as lists, the calls of a model counted from 1, the shape of the input in the first
/// layer.
#[test]
fn files_of_keras_2_are_read() {
    let dense = |name: &str, reads: &str| {
        format!(
            r#"{{"class_name": "Dense", "name": "{name}", "config": {{"name": "{name}", "trainable": true, "dtype": "float32", "units": 4,
            "activation": "relu", "use_bias": true, "kernel_initializer": {{"class_name": "GlorotUniform", "config": {{"seed": null}}}},
            "bias_initializer": {{"class_name": "Zeros", "config": {{}}}}, "kernel_regularizer": null}}, "inbound_nodes": [{reads}]}}"#
        )
    };
    let input = r#"{"class_name": "InputLayer", "name": "i", "config": {"batch_input_shape": [null, 4], "dtype": "float32", "sparse": false,
        "ragged": false, "name": "i"}, "inbound_nodes": []}"#;
    let inner = format!(
        r#"{{"class_name": "Functional", "name": "inner", "config": {{"name": "inner", "layers": [{input}, {}], "input_layers": [["i", 0, 0]],
        "output_layers": [["h", 0, 0]]}}, "inbound_nodes": [[["a", 0, 0, {{}}]], [["inner", 1, 0, {{}}]]]}}"#,
        dense("h", r#"[["i", 0, 0, {}]]"#)
    );
    let json = format!(
        r#"{{"class_name": "Functional", "config": {{"name": "m", "layers": [{input}, {}, {inner}, {}], "input_layers": [["i", 0, 0]],
        "output_layers": [["b", 0, 0], ["inner", 1, 0]]}}, "keras_version": "2.15.0", "backend": "tensorflow"}}"#,
        dense("a", r#"[["i", 0, 0, {}]]"#),
        dense("b", r#"[["inner", 2, 0, {}]]"#)
    );
    let keras = keras::from_bytes(json.into_bytes(), None).unwrap();
    let nodes: Vec<(&str, &[NodeRef])> =
        keras.model.nodes.iter().map(|node| (node.name.as_str(), &node.inputs[..])).collect();
    let [i, n0, n1, n2] = [NodeRef::Input(0), NodeRef::Node(0), NodeRef::Node(1), NodeRef::Node(2)];
    assert_eq!(nodes, [("a", &[i][..]), ("inner/h", &[n0]), ("inner/h", &[n1]), ("b", &[n2])]);
    let outputs: Vec<(&str, NodeRef)> =
        keras.model.outputs.iter().map(|output| (output.name.as_str(), output.from)).collect();
    assert_eq!(outputs, [("b", NodeRef::Node(3)), ("inner", n1)]);
    assert_eq!(keras.model.inputs[0].name, "i");
    let sequential = r#"{"class_name": "Sequential", "config": {"name": "s", "layers": [
        {"class_name": "Flatten", "config": {"name": "f", "batch_input_shape": [null, 2, 3], "data_format": "channels_last"}}]}}"#;
    let keras = keras::from_bytes(sequential.as_bytes().to_vec(), None).unwrap();
    assert_eq!(keras.model.inputs[0].shape.extents(), [2, 3]);
}

/// Inputs and outputs in lists and dictionaries, one in another, as Keras 3 writes them; data call them by their keys.
/// A model that takes a list goes by the names of its inputs where it is called with a dictionary.
#[test]
fn inputs_and_outputs_stand_in_lists_and_dictionaries() {
    let input = |name: &str| {
        format!(
            r#"{{"class_name": "InputLayer", "name": "{name}", "inbound_nodes": [], "config": {{"name": "{name}", "batch_shape": [null, 4], "dtype": "float32"}}}}"#
        )
    };
    let tensor = |from: &str| {
        format!(
            r#"{{"class_name": "__keras_tensor__", "config": {{"shape": [null, 4], "dtype": "float32", "keras_history": ["{from}", 0, 0]}}}}"#
        )
    };
    let subtract = |name: &str, a: &str, b: &str| {
        format!(
            r#"{{"class_name": "Subtract", "module": "keras.layers", "name": "{name}", "config": {{"name": "{name}", "trainable": true}},
            "inbound_nodes": [{{"args": [[{}, {}]], "kwargs": {{}}}}]}}"#,
            tensor(a),
            tensor(b)
        )
    };
    let open = |layers: String, inputs: &str, outputs: &str| {
        let json = format!(
            r#"{{"class_name": "Functional", "config": {{"name": "m", "layers": [{layers}], "input_layers": {inputs}, "output_layers": {outputs}}}}}"#
        );
        keras::from_bytes(json.into_bytes(), None).unwrap().model
    };
    let flat = [input("a"), input("b"), subtract("s", "a", "b"), subtract("t", "b", "a")].join(",");
    let outputs = r#"{"z": ["s", 0, 0], "out": [["t", 0, 0], {"deep": ["s", 0, 0]}]}"#;
    let model = open(flat.clone(), r#"[["a", 0, 0], {"q": ["b", 0, 0]}]"#, outputs);
    let names: Vec<&str> = model.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["a", "q"]);
    assert_eq!(model.output_names().collect::<Vec<_>>(), ["t", "deep", "z"]);
    // The inner model takes [b, a]; the outer one calls it by names.
    let inner = format!(
        r#"{{"class_name": "Functional", "name": "inner", "config": {{"name": "inner", "layers": [{flat}], "input_layers": [["b", 0, 0], ["a", 0, 0]],
        "output_layers": [["s", 0, 0]]}}, "inbound_nodes": [{{"args": [{{"a": {}, "b": {}}}], "kwargs": {{"mask": {{"a": null, "b": null}}}}}}]}}"#,
        tensor("i"),
        tensor("j")
    );
    let layers = [input("i"), input("j"), inner].join(",");
    let model = open(layers, r#"[["i", 0, 0], ["j", 0, 0]]"#, r#"[["inner", 1, 0]]"#);
    assert_eq!(model.nodes[0].inputs, [NodeRef::Input(0), NodeRef::Input(1)]);
}

/// For `keras/check_saved.py`, which compares these with what Keras predicts.
#[test]
#[ignore = "prints the predictions of the file that PLIMSOLL_KERAS_FILE names"]
fn predictions_of_a_file() {
    let path = std::env::var("PLIMSOLL_KERAS_FILE").unwrap();
    let keras = keras::read(Path::new(&path), None).unwrap();
    let found = run::predict_with(&keras, 2, false, |at, _| read(&keras, at));
    println!("predictions {}", serde_json::to_string(&found).unwrap());
}
