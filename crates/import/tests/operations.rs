//! The functions of `keras.ops`: each case of `keras/make_operations.py` computes what Keras computes, with Keras's
//! gradients, or is refused by its class; `docs/keras-coverage.md` says which. The table there has layers,
//! initializers, activations, regularizers and constraints as well.

#[path = "keras/rule.rs"]
mod rule;
#[path = "keras/run.rs"]
mod run;
#[path = "keras/table.rs"]
mod table;

use flate2::read::GzDecoder;
use plimsoll_exec::reference::{Tensor, interpret};
use plimsoll_graph::op::{Binary, Reduce, Reduction};
use plimsoll_graph::{ElementType, Graph, Phase, Role, Site, Source, ValueId};
use plimsoll_import::keras::{self, Keras};
use plimsoll_model::Mode;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use table::{check_part, entries, packed};

/// One expression and what Keras makes of it. Nothing stands for NaN.
#[derive(Deserialize)]
struct Case {
    /// The function and a number.
    name: String,
    expression: String,
    /// Nothing where Keras itself cannot put it into a functional model.
    config: Option<serde_json::Value>,
    #[serde(default)]
    predictions: Vec<Vec<Option<f64>>>,
    /// Which of the results are floats: the others have no gradient.
    #[serde(default)]
    floats: Vec<bool>,
    #[serde(default)]
    gradients: BTreeMap<String, Option<Vec<Option<f64>>>>,
}

/// Relative to the largest number of a tensor, or 1.
const PREDICTIONS: f64 = 2e-5;
const GRADIENTS: f64 = 2e-4;

fn cases(path: &Path) -> Vec<Case> {
    let mut text = Vec::new();
    GzDecoder::new(&std::fs::read(path).unwrap()[..]).read_to_end(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keras/operations.json.gz")
}

/// What became of a case.
enum Found {
    /// Keras cannot do it, either.
    Impossible,
    Equal,
    Refused(String),
    Different(String),
}

fn check(case: &Case) -> Found {
    let Some(config) = &case.config else { return Found::Impossible };
    let keras = match keras::from_bytes(config.to_string().into_bytes(), None) {
        Ok(keras) => keras,
        Err(error) => return Found::Refused(error.to_string()),
    };
    let found = run::predict(&keras, 2, 1.0, false);
    let found = found.iter().map(|output| output.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
    for (output, (found, wanted)) in found.zip(&case.predictions).enumerate() {
        if let Some(problem) = difference(&found, wanted, PREDICTIONS) {
            return Found::Different(format!("output {output}: {problem}"));
        }
    }
    for (name, wanted) in gradients(case, &keras) {
        let gradient = &case.gradients[&name];
        let zeros = || vec![Some(0.0); wanted.len()];
        if let Some(problem) = difference(&wanted, &gradient.clone().unwrap_or_else(zeros), GRADIENTS) {
            return Found::Different(format!("gradient of {name}: {problem}"));
        }
    }
    Found::Equal
}

fn difference(found: &[f64], wanted: &[Option<f64>], allowed: f64) -> Option<String> {
    if found.len() != wanted.len() {
        return Some(format!("{} numbers, not {}", found.len(), wanted.len()));
    }
    let finite = wanted.iter().flatten().filter(|x| x.abs() < 1e299);
    let largest = finite.fold(1.0f64, |largest, x| largest.max(x.abs()));
    let same = |found: f64, wanted: Option<f64>| match wanted {
        None => found.is_nan(),
        Some(wanted) if wanted.abs() > 1e299 => found.is_infinite() && (found > 0.0) == (wanted > 0.0),
        Some(wanted) => (found - wanted).abs() <= allowed * largest,
    };
    let wrong = found.iter().zip(wanted).position(|(&found, &wanted)| !same(found, wanted))?;
    Some(format!("at {wrong} {}, not {:?}", found[wrong], wanted[wrong]))
}

/// The gradients of a weighted sum of the results, in float64; zeros where there are none.
fn gradients(case: &Case, keras: &Keras) -> Vec<(String, Vec<f64>)> {
    if case.gradients.is_empty() {
        return Vec::new();
    }
    let mut graph = keras.model.lower(2, Mode::Inference).unwrap();
    let mut given = given(&graph, keras);
    let loss = loss(&mut graph, case, &mut given);
    let wanted: Vec<ValueId> =
        graph.persistents().filter(|&id| graph.value(id).role == Role::Parameter).collect();
    let found = match loss {
        Some(loss) => plimsoll_train::differentiate(&mut graph, loss, &wanted).unwrap(),
        None => vec![None; wanted.len()],
    };
    let contents = interpret(&graph, &given);
    let zeros = |id: ValueId| vec![0.0; graph.tensor(id).shape.elements()];
    let gradient = |(&id, gradient): (&ValueId, &Option<ValueId>)| {
        let data = gradient.map_or_else(|| zeros(id), |gradient| contents[gradient.index()].data.clone());
        (graph.value(id).name.clone(), data)
    };
    wanted.iter().zip(&found).map(gradient).collect()
}

/// Inputs and weights by the rule.
fn given(graph: &Graph, keras: &Keras) -> HashMap<ValueId, Tensor> {
    let mut given = HashMap::new();
    for weight in &keras.weights {
        let name = weight.name.rsplit('/').next().unwrap();
        let data = rule::weights(&weight.path, name, &weight.shape, 1.0);
        let id = graph.find(&weight.name).unwrap();
        given.insert(
            id,
            Tensor::f32(weight.shape.clone(), data.into_iter().map(f64::from).collect::<Vec<_>>()),
        );
    }
    for (position, id) in graph.inputs().enumerate() {
        assert_eq!(graph.value(id).source, Source::Input);
        let name = if position == 0 { "x".to_string() } else { format!("x{position}") };
        let tensor = graph.tensor(id).clone();
        let count = tensor.shape.elements();
        let data = match tensor.element {
            ElementType::I32 => rule::ids(&name, count).map(f64::from).collect(),
            _ => rule::units(&name, count).map(|x| f64::from(x as f32)).collect(),
        };
        given.insert(id, Tensor::new(tensor, data));
    }
    given
}

fn loss(graph: &mut Graph, case: &Case, given: &mut HashMap<ValueId, Tensor>) -> Option<ValueId> {
    let site = Site { layer: None, phase: Phase::Forward };
    let mut total = None;
    for (number, output) in graph.outputs().to_vec().into_iter().enumerate() {
        if !case.floats[number] {
            continue;
        }
        let tensor = graph.tensor(output).clone();
        let weights = graph.add_input(format!("w{number}"), tensor.clone()).unwrap();
        let units = rule::units(&format!("w{number}"), tensor.shape.elements()).map(|x| f64::from(x as f32));
        given.insert(weights, Tensor::new(tensor.clone(), units.collect()));
        let product = graph.add_single(Binary::Multiply.into(), &[output, weights], site).unwrap();
        let sum = Reduce::all(Reduction::Sum, tensor.shape.rank());
        let sum = graph.add_single(sum.into(), &[product], site).unwrap();
        total = Some(match total {
            None => sum,
            Some(total) => graph.add_single(Binary::Add.into(), &[total, sum], site).unwrap(),
        });
    }
    total
}

/// The rows of the table: each function with what became of its cases.
fn rows() -> Vec<String> {
    let mut found: BTreeMap<String, Vec<(String, Found)>> = BTreeMap::new();
    for case in cases(&golden()) {
        let function = case.name.split('/').next().unwrap().to_string();
        let result = check(&case);
        if let Found::Different(how) = &result {
            panic!("{}: {how}", case.expression);
        }
        found.entry(function).or_default().push((case.expression, result));
    }
    found.into_iter().map(|(function, cases)| row(&function, &cases)).collect()
}

/// `equal` if any case is; then the last column has those that are refused.
fn row(function: &str, cases: &[(String, Found)]) -> String {
    let equal = cases.iter().any(|(_, found)| matches!(found, Found::Equal));
    let reason = |(expression, found): &(String, Found)| match found {
        Found::Refused(why) if equal => Some(format!("refused: `{expression}`: {why}")),
        Found::Refused(why) => Some(why.clone()),
        _ => None,
    };
    let reasons: Vec<String> = cases.iter().filter_map(reason).collect();
    let status = match (equal, reasons.is_empty()) {
        (true, _) => "equal",
        (false, false) => "refused",
        (false, true) => "not in functional models",
    };
    let note = if equal { reasons.join("; ") } else { reasons.first().cloned().unwrap_or_default() };
    format!("| `{function}` | {status} | {} |", note.replace('|', "\\|").replace('\n', " "))
}

/// In one test, since all of it is one file.
#[test]
fn the_table_says_what_the_importer_does() {
    let operations = rows();
    check_part("keras.ops", &operations);
    for kind in ["layers", "initializers", "activations", "regularizers", "constraints"] {
        // That what is taken is equal is what the golden cases of the layers say.
        let taken = |file| keras::from_bytes(file, None).map(drop).map_err(|error| error.to_string());
        check_part(&format!("keras.{kind}"), &entries(GzDecoder::new(packed()), kind, taken));
    }
    let count = |status: &str| operations.iter().filter(|row| row.contains(&format!("| {status} |"))).count();
    let (equal, refused) = (count("equal"), count("refused"));
    assert!(equal * 100 >= 75 * (equal + refused), "{equal} are equal, {refused} refused");
}

/// For cases drawn at random: says what became of each.
#[test]
#[ignore = "checks the cases of the file that PLIMSOLL_OPERATIONS names"]
fn cases_of_a_file() {
    for case in cases(Path::new(&std::env::var("PLIMSOLL_OPERATIONS").unwrap())) {
        let checked = std::panic::catch_unwind(|| check(&case));
        let (status, text) = match checked {
            Ok(Found::Impossible) => ("impossible", String::new()),
            Ok(Found::Equal) => ("equal", String::new()),
            Ok(Found::Refused(why)) => ("refused", why),
            Ok(Found::Different(how)) => ("DIFFERENT", how),
            Err(_) => ("PANIC", String::new()),
        };
        println!("{status}\t{}\t{}\t{text}", case.name, case.expression);
    }
}
