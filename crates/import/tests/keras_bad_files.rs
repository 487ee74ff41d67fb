//! Broken and hostile Keras files: a clear error, in bounded memory and time.

use plimsoll_graph::op::Constraint;
use plimsoll_import::keras;
use plimsoll_model::{Penalized, Penalty, Regularizer};
use std::io::Write;
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keras/files").join(name)).unwrap()
}

/// Why a file is refused, when it is opened or when its weights are read.
fn refused(bytes: Vec<u8>) -> String {
    match keras::from_bytes(bytes, None) {
        Err(error) => error.to_string(),
        Ok(keras) => {
            let failed = (0..keras.weights.len()).find_map(|at| {
                let mut into = vec![0.0; keras.weights[at].shape.iter().product()];
                keras.read_weight(at, &mut into).err()
            });
            failed.expect("something is wrong").to_string()
        }
    }
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, contents) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(contents).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn sequential(layers: &str) -> String {
    let input = r#"{"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}}"#;
    format!(r#"{{"class_name": "Sequential", "config": {{"name": "m", "layers": [{input}, {layers}]}}}}"#)
}

fn functional(layers: &str, output: &str) -> String {
    let input = r#"{"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}, "inbound_nodes": []}"#;
    format!(
        r#"{{"class_name": "Functional", "config": {{"name": "m", "layers": [{input}, {layers}],
            "input_layers": [["i", 0, 0]], "output_layers": [["{output}", 0, 0]]}}}}"#
    )
}

fn relu(name: &str, reads: &str) -> String {
    format!(
        r#"{{"class_name": "ReLU", "config": {{"name": "{name}"}}, "inbound_nodes": [[["{reads}", 0, 0, {{}}]]]}}"#
    )
}

fn dense(fields: &str) -> String {
    sequential(&format!(r#"{{"class_name": "Dense", "config": {{"name": "d", "units": 2{fields}}}}}"#))
}

fn assert_refused(bytes: impl Into<Vec<u8>>, wanted: &str) {
    let message = refused(bytes.into());
    assert!(message.contains(wanted), "{message}");
}

#[test]
fn truncated_archives() {
    let whole = file("classifier.keras");
    for end in (0..whole.len()).step_by(97) {
        refused(whole[..end].to_vec());
    }
    assert_refused(&whole[..whole.len() / 2], "the archive is broken");
    let h5 = file("classifier.h5");
    for end in (0..h5.len()).step_by(997) {
        refused(h5[..end].to_vec());
    }
}

#[test]
fn bombs() {
    let zeros = vec![b' '; 80 << 20];
    assert_refused(archive(&[("config.json", &zeros)]), "more than the");
    // A member that declares less than it has.
    let mut bytes = archive(&[("config.json", &zeros)]);
    let size = u32::try_from(zeros.len()).unwrap().to_le_bytes();
    while let Some(at) = bytes.windows(4).position(|window| window == size) {
        bytes[at..at + 4].copy_from_slice(&100u32.to_le_bytes());
    }
    refused(bytes);
    let deep = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert_refused(deep, "it is no Keras model");
    // Models in models, each called twice: 2 to the power of 40 layers if they were laid out.
    let mut model = dense("");
    for level in 0..40 {
        let inner = model.replacen(r#""name": "m""#, &format!(r#""name": "m{level}""#), 1);
        let twice = r#""inbound_nodes": [[["i", 0, 0, {}]], [["m", 0, 0, {}]]]"#
            .replace("m\"", &format!("m{level}\""));
        let inner = format!("{}, {twice}}}", inner.trim_end().strip_suffix('}').unwrap());
        model = functional(&inner, &format!("m{level}"));
    }
    assert_refused(model, "deep");
}

#[test]
fn what_is_not_there_or_not_text() {
    assert_refused(Vec::new(), "no Keras model");
    assert_refused(b"\xff\xfe{}".to_vec(), "utf-8");
    assert_refused("{}", "no class_name");
    assert_refused(r#"{"class_name": "Dense", "config": {}}"#, "neither a functional nor a sequential");
    assert_refused(archive(&[("metadata.json", b"{}")]), "no config.json");
    assert_refused(archive(&[("config.json", b"\xff\xfe")]), "utf-8");
    assert_refused(
        archive(&[("config.json", dense("").as_bytes()), ("model.weights.h5", b"\x89HDF nothing")]),
        "weights",
    );
    assert_refused(b"\x89HDF\r\n\x1a\n".to_vec(), "weights `/`");
    let unbuilt = r#"{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "Flatten", "config": {"name": "f"}}]}}"#;
    assert_refused(unbuilt, "before it knew the shape");
}

#[test]
fn weights_that_do_not_fit() {
    // The weights of one model under the configuration of another.
    let names = ["config.json", "model.weights.h5"];
    let take = |bytes: Vec<u8>, name: &str| {
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let mut contents = Vec::new();
        std::io::copy(&mut zip.by_name(name).unwrap(), &mut contents).unwrap();
        contents
    };
    let config = take(file("logits.keras"), names[0]);
    let weights = take(file("classifier.keras"), names[1]);
    let bytes = archive(&[(names[0], &config), (names[1], &weights)]);
    let message = refused(bytes.clone());
    assert_eq!(message, "weights `layers/dense/vars/0`: the file has [64, 10], the model [64, 12]");
    let error = keras::from_bytes(bytes, None).unwrap().check_weights().unwrap_err().to_string();
    assert!(error.contains("layers/dense_1/vars/0"), "{error}");
}

#[test]
fn graphs_that_are_none() {
    let cycle = functional(&[relu("a", "b"), relu("b", "a")].join(","), "a");
    assert_refused(cycle, "it reads its own result");
    assert_refused(functional(&relu("a", "a"), "a"), "it reads its own result");
    assert_refused(functional(&relu("a", "nowhere"), "a"), "`nowhere` is read, but does not exist");
    assert_refused(functional(&relu("a", "i"), "nowhere"), "`nowhere` is read, but does not exist");
    assert_refused(functional(&[relu("a", "i"), relu("a", "i")].join(","), "a"), "two layers are called `a`");
    let uncalled = r#"{"class_name": "ReLU", "config": {"name": "a"}, "inbound_nodes": []}"#;
    assert_refused(functional(uncalled, "a"), "layer `a` (ReLU)");
}

/// One bit of a weight is another than the archive says.
#[test]
fn damaged_weights_are_refused_by_their_checksum() {
    let whole = file("classifier.keras");
    let keras = keras::from_bytes(whole.clone(), None).unwrap();
    let mut kernel = vec![0.0; keras.weights[0].shape.iter().product()];
    keras.read_weight(0, &mut kernel).unwrap();
    let bytes: Vec<u8> = kernel.iter().flat_map(|x| x.to_le_bytes()).collect();
    let at = whole.windows(bytes.len()).position(|window| window == bytes).unwrap();
    let mut damaged = whole;
    damaged[at] ^= 1;
    let keras = keras::from_bytes(damaged, None).unwrap();
    let error = keras.read_weight(0, &mut kernel).unwrap_err().to_string();
    assert!(error.contains("model.weights.h5 is damaged"), "{error}");
}

#[test]
fn absurd_numbers() {
    assert_refused(dense("0000000000"), "layer `d`");
    assert_refused(dense("0000000000000000000000000"), "units=");
    let shape = r#"{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "InputLayer",
        "config": {"batch_shape": [null, 4000000000, 4000000000], "name": "i"}}]}}"#;
    assert_refused(shape, "is not supported");
    let open = shape.replace("4000000000, 4000000000", "null, null, 3");
    let error = keras::from_bytes(open.clone().into_bytes(), None).err().unwrap();
    assert!(error.to_string().contains("`i` has the shape [null,null,null,3]"), "{error}");
    assert!(error.hint().unwrap().contains("model.keras@224"));
    assert_eq!(
        keras::from_bytes(open.into_bytes(), Some(32)).unwrap().model.inputs[0].shape.extents(),
        [32, 32, 3]
    );
}

#[test]
fn what_we_do_not_know_is_named_with_its_place() {
    let custom = r#"{"module": "my.code", "class_name": "Swirl", "config": {"name": "s"}, "registered_name": "my>Swirl"}"#;
    assert_refused(
        sequential(custom),
        "layer `s` (Swirl): Swirl is a layer of somebody's own: the file does not say what it computes",
    );
    let inner = sequential(custom).replace(r#""name": "m""#, r#""name": "inner""#);
    assert_refused(sequential(&inner), "layer `inner/s` (Swirl)");
    let error = keras::from_bytes(sequential(custom).into_bytes(), None).err().unwrap();
    assert!(error.hint().unwrap().contains("keras.layers"));
    assert_refused(dense(r#", "sparsity": 0.5"#), "its field sparsity=0.5 is not known");
    assert_refused(dense(r#", "activation": "wiggle""#), "activation=wiggle is not supported");
    assert_refused(dense(r#", "dtype": "float16""#), "dtype=float16 is not supported");
    assert_refused(dense(r#", "units": -3"#), "units=-3 is not a count");
}

#[test]
fn what_is_done_otherwise_is_noted_and_what_is_not_known_is_refused() {
    let fields = r#", "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.1}}, "bias_constraint": {"class_name": "NonNeg", "config": {}},
        "dtype": {"class_name": "DTypePolicy", "config": {"name": "mixed_bfloat16"}}"#;
    let keras = keras::from_bytes(dense(fields).into_bytes(), None).unwrap();
    let [note] = &keras.notes[..] else { panic!("{:?}", keras.notes) };
    assert!(note.starts_with("`d` (Dense): ") && note.contains("mixed_bfloat16"), "{note}");
    let of = Penalized::Weight("d/kernel".to_string());
    assert_eq!(keras.model.penalties, [Penalty { of, regularizer: Regularizer::Norms { l1: 0.0, l2: 0.1 } }]);
    assert_eq!(keras.constraints, [("d/bias".to_string(), Constraint::NonNegative)]);
    let unknown = r#", "bias_constraint": {"class_name": "Mine", "config": {}}"#;
    assert_refused(dense(unknown), "bias_constraint=");
    for (key, value) in [
        ("kernel_regularizer", r#"{"class_name": "Mine", "config": {}}"#),
        ("kernel_regularizer", r#"{"class_name": "L2", "config": {"l2": -1.0}}"#),
        ("bias_regularizer", r#""orthogonal_regularizer""#),
        ("activity_regularizer", r#"{"class_name": "L1", "config": {"l1": "much"}}"#),
    ] {
        assert_refused(dense(&format!(r#", "{key}": {value}"#)), &format!("{key}="));
    }
    let mixes =
        r#", "activity_regularizer": {"class_name": "OrthogonalRegularizer", "config": {"mode": "columns"}}"#;
    assert_refused(dense(mixes), "an activity_regularizer that is orthogonal is not supported");
}

/// A short run of what `examples/fuzz_keras.rs` does for as long as one likes.
#[test]
fn mutations_never_panic() {
    for name in ["classifier.keras", "classifier.h5", "packed.keras"] {
        let whole = file(name);
        let mut state = 5u64;
        for _ in 0..2000 {
            let mut bytes = whole.clone();
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 25) as u8;
            }
            let Ok(keras) = keras::from_bytes(bytes, None) else { continue };
            for (position, weight) in keras.weights.iter().enumerate() {
                let count: usize = weight.shape.iter().product();
                if count < 1 << 20 {
                    let _ = keras.read_weight(position, &mut vec![0.0; count]);
                }
            }
        }
    }
}
