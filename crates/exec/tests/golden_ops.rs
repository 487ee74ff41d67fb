//! The reference interpreter and the gradient graphs against what TensorFlow computes.
//!
//! `golden/ops.json` holds the cases; `golden/ORIGIN.md` says where they come from. Kernels are compared with the
//! reference elsewhere. `golden/special.json` holds what TensorFlow makes of NaN and the infinities.

use plimsoll_exec::reference::{self, Tensor};
use plimsoll_graph::op::{Binary, Reduce, Reduction};
use plimsoll_graph::{Graph, OpKind, Phase, Site, TensorType, ValueId};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// TensorFlow computes in float32: the largest difference, relative to the largest element.
const TOLERANCE: f64 = 2e-5;

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("golden/ops.json")).expect("the script writes valid JSON")
});

/// One test for each name that cases go by, so that a failure says which op it is.
macro_rules! golden {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check_cases(stringify!($name));
        })*

        #[test]
        fn every_case_has_a_test() {
            for case in list(&GOLDEN["cases"]) {
                let name = case["test"].as_str().unwrap();
                assert!([$(stringify!($name)),*].contains(&name), "{name}");
            }
        }
    };
}

golden! {
    attention batch_norm conv2d cross_entropy depthwise_conv2d distances embedding gru layer_norm lstm matmul
    pool2d softmax transposed_conv2d unary upsample2d
}

#[test]
fn update() {
    for case in list(&GOLDEN["updates"]) {
        let kind: OpKind = serde_json::from_value(case["op"].clone()).unwrap();
        let OpKind::Update(update) = &kind else { panic!("{kind:?} is no update") };
        let learning_rate = Tensor::f32([], [case["learning_rate"].as_f64().unwrap()]);
        let parameter = tensor(&case["parameter"]);
        let zeros = Tensor::new(parameter.tensor.clone(), vec![0.0; parameter.data.len()]);
        let mut state = vec![parameter];
        state.extend(vec![zeros; update.slot_count()]);
        let steps = list(&case["gradients"]).iter().zip(list(&case["after"]));
        for (number, (gradient, after)) in steps.enumerate() {
            let (gradient, step) = (tensor(gradient), Tensor::i32([], [number as f64 + 1.0]));
            let mut inputs = vec![&state[0], &gradient, &learning_rate, &step];
            inputs.extend(&state[1..]);
            state = reference::run(&kind, &inputs);
            compare(&format!("{kind:?}, step {}", number + 1), &state[0], &tensor(after));
        }
    }
}

#[test]
fn special_numbers() {
    let golden: Value = serde_json::from_str(include_str!("golden/special.json")).unwrap();
    for case in list(&golden["cases"]) {
        let kind: OpKind = serde_json::from_value(case["op"].clone()).unwrap();
        let inputs: Vec<Tensor> = list(&case["inputs"]).iter().map(special_tensor).collect();
        let found = reference::run(&kind, &inputs.iter().collect::<Vec<_>>()).remove(0);
        let wanted = special_tensor(&case["output"]);
        assert_eq!(found.tensor, wanted.tensor, "{kind:?}");
        for (element, (f, w)) in found.data.iter().zip(&wanted.data).enumerate() {
            let same = f == w || f.is_nan() && w.is_nan() || (f - w).abs() <= TOLERANCE;
            assert!(same, "{kind:?}: element {element} is {f}, but {w} in TensorFlow");
        }
    }
}

/// A tensor whose numbers may be strings, such as "nan".
fn special_tensor(value: &Value) -> Tensor {
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap());
    Tensor::new(tensor_type(value), list(&value["values"]).iter().map(number).collect())
}

fn check_cases(name: &str) {
    let cases: Vec<&Value> = list(&GOLDEN["cases"]).iter().filter(|case| case["test"] == name).collect();
    assert!(!cases.is_empty(), "{name} has no case");
    for case in cases {
        check_case(case);
    }
}

/// Compares the output of a chain of ops, and the gradients of its weighted sum.
fn check_case(case: &Value) {
    let what =
        format!("{} of {}", case["ops"], list(&case["inputs"]).iter().map(described).collect::<String>());
    let mut graph = Graph::new("case");
    let mut given = HashMap::new();
    let mut add_input = |graph: &mut Graph, name: String, value: &Value| {
        let tensor = tensor(value);
        let id = graph.add_input(name, tensor.tensor.clone()).unwrap();
        given.insert(id, tensor);
        id
    };
    let inputs = list(&case["inputs"]).iter().enumerate();
    let inputs: Vec<ValueId> =
        inputs.map(|(i, value)| add_input(&mut graph, format!("input {i}"), value)).collect();
    let weights = add_input(&mut graph, "weights".to_string(), &case["weights"]);
    let site = Site { layer: None, phase: Phase::Forward };
    let mut output = inputs.clone();
    for op in list(&case["ops"]) {
        let kind: OpKind = serde_json::from_value(op.clone()).unwrap();
        output = vec![graph.add_op(kind, &output, site).unwrap()[0]];
    }
    let weighted = graph.add_single(Binary::Multiply.into(), &[output[0], weights], site).unwrap();
    let sum = Reduce::all(Reduction::Sum, graph.tensor(weighted).shape.rank());
    let loss = graph.add_single(sum.into(), &[weighted], site).unwrap();
    let golden: Vec<(ValueId, &Value)> = inputs
        .into_iter()
        .zip(list(&case["gradients"]))
        .filter(|(_, gradient)| !gradient.is_null())
        .collect();
    let wanted: Vec<ValueId> = golden.iter().map(|(input, _)| *input).collect();
    let gradients = plimsoll_train::differentiate(&mut graph, loss, &wanted).unwrap();
    let contents = reference::interpret(&graph, &given);
    compare(&what, &contents[output[0].index()], &tensor(&case["output"]));
    for ((input, golden), gradient) in golden.into_iter().zip(gradients) {
        let gradient = gradient.unwrap_or_else(|| panic!("{what}: no gradient of {input:?}"));
        compare(&format!("{what}, gradient of {input:?}"), &contents[gradient.index()], &tensor(golden));
    }
}

fn compare(what: &str, found: &Tensor, wanted: &Tensor) {
    assert_eq!(found.tensor, wanted.tensor, "{what}");
    let largest = wanted.data.iter().fold(1e-2f64, |max, x| max.max(x.abs()));
    for (element, (f, w)) in found.data.iter().zip(&wanted.data).enumerate() {
        let close = (f - w).abs() <= TOLERANCE * largest;
        assert!(close, "{what}: element {element} is {f}, but {w} in TensorFlow");
    }
}

fn tensor(value: &Value) -> Tensor {
    Tensor::new(tensor_type(value), serde_json::from_value(value["values"].clone()).unwrap())
}

fn tensor_type(value: &Value) -> TensorType {
    let part = |name: &str| value[name].clone();
    TensorType::new(
        serde_json::from_value(part("element")).unwrap(),
        serde_json::from_value::<Vec<usize>>(part("shape")).map(plimsoll_graph::Shape::new).unwrap(),
    )
}

fn described(value: &Value) -> String {
    format!("{} ", tensor_type(value))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("the script writes a list here")
}
